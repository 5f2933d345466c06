import { svelte } from "@sveltejs/vite-plugin-svelte";
import { fileURLToPath } from "node:url";
import { viteSingleFile } from "vite-plugin-singlefile";
import { defineConfig } from "vitest/config";

// One page, no chunks, no hashes in names: the same source must give the same bytes on every machine.
export default defineConfig({
  plugins: [
    svelte({ compilerOptions: { cssHash: ({ hash, css }) => `p-${hash(css)}`, runes: true } }),
    viteSingleFile({ removeViteModuleLoader: true }),
    { name: "page-name", enforce: "post", generateBundle: (_, bundle) => renamePage(bundle) },
  ],
  build: {
    target: "es2022",
    outDir: fileURLToPath(new URL("../python/penstock/report", import.meta.url)),
    emptyOutDir: false,
    modulePreload: false,
  },
  test: { include: ["src/**/*.test.ts"] },
});

/** The page is called viewer.html where Python looks for it. */
function renamePage(bundle: Record<string, { fileName: string }>): void {
  const page = bundle["index.html"];
  if (page) page.fileName = "viewer.html";
}
