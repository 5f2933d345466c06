/**
 * What the page shows, as a part of its address: `#time?time=2000000-5000000&table=ports&sort=-drops`. A link that is
 * copied opens the same view, and the back button undoes a choice. Times are in nanoseconds.
 */
const SETTLED_MS = 250;

export class Address {
  /** Grows when the address was changed from outside: by the back button, or by hand. */
  moved = $state(0);
  section = "";
  private values = new URLSearchParams();
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.read();
    // Both come where only the part after # changes; which of them depends on who changed it.
    for (const name of ["popstate", "hashchange"]) {
      addEventListener(name, () => {
        if (location.hash.slice(1) === this.text()) return;
        clearTimeout(this.waiting);
        this.read();
        this.moved++;
      });
    }
  }

  get(key: string): string | null {
    return this.values.get(key);
  }

  /** A number of at least zero; null if there is none. */
  number(key: string): number | null {
    const text = this.get(key);
    return text !== null && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null;
  }

  /** Notes a value, null for none, once it has been still for a moment: what moves all the time is not a step back. */
  note(key: string, value: string | null): void {
    if (value === this.get(key)) return;
    this.set(key, value);
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.write("replaceState"), SETTLED_MS);
  }

  /** Changes values, and the section if one is named; the back button returns to what was before. */
  step(changes: Readonly<Record<string, string | null>>, section = this.section): void {
    const changed = Object.entries(changes).filter(([key, value]) => value !== this.get(key));
    if (changed.length === 0 && section === this.section) return;
    clearTimeout(this.waiting);
    this.write("replaceState");
    for (const [key, value] of changed) this.set(key, value);
    this.section = section;
    this.write("pushState");
  }

  private set(key: string, value: string | null): void {
    if (value === null) this.values.delete(key);
    else this.values.set(key, value);
  }

  private text(): string {
    const values = this.values.toString();
    return values === "" ? this.section : `${this.section}?${values}`;
  }

  private read(): void {
    const [section, ...rest] = location.hash.slice(1).split("?");
    this.section = section ?? "";
    this.values = new URLSearchParams(rest.join("?"));
  }

  private write(how: "pushState" | "replaceState"): void {
    const hash = this.text();
    if (location.hash.slice(1) === hash) return;
    try {
      history[how](null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
    } catch {
      // A page without an address of its own, such as one in a frame of a notebook.
    }
  }
}

export const address = new Address();
