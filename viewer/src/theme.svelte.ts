import { untrack } from "svelte";
import { address } from "./address.svelte";

export const THEMES = ["system", "light", "dark"] as const;
const DARK = "(prefers-color-scheme: dark)";

/**
 * Colors for canvases: the custom properties of app.css, read again whenever the scheme changes or the page is printed.
 */
class Theme {
  /** "system", or what was chosen instead. */
  chosen: string = $state("system");
  /** Grows when the colors may have changed; canvases redraw on it. */
  version = $state(0);
  printing = $state(false);
  private known = new Map<string, string>();

  constructor() {
    const refresh = (): void => {
      this.known.clear();
      this.version++;
    };
    matchMedia(DARK).addEventListener("change", refresh);
    $effect.root(() => {
      $effect(() => {
        if (address.moved >= 0) this.chosen = THEMES.find((one) => one === address.get("theme")) ?? "system";
      });
      $effect(() => {
        show(this.chosen);
        untrack(refresh);
      });
    });
    const print = matchMedia("print");
    print.addEventListener("change", () => {
      this.printing = print.matches;
      refresh();
    });
  }

  /** The value of `--name`. */
  color(name: string): string {
    let value = this.known.get(name);
    if (value === undefined) {
      value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
      this.known.set(name, value);
    }
    return value;
  }

  font(size: number): string {
    return `${size}px ${this.color("font")}`;
  }
}

const whenDark: CSSMediaRule[] = [];

/** Lets the rules for dark windows hold always, never, or where the system says so. */
function show(chosen: string): void {
  if (whenDark.length === 0) {
    const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
    whenDark.push(...rules.filter((rule): rule is CSSMediaRule => rule instanceof CSSMediaRule && rule.conditionText.includes(DARK)));
  }
  for (const rule of whenDark) rule.media.mediaText = chosen === "system" ? `screen and ${DARK}` : chosen === "dark" ? "screen" : "not all";
  document.documentElement.style.colorScheme = chosen === "system" ? "" : chosen;
}

export const theme = new Theme();
