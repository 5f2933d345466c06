/**
 * Colours for canvases: the custom properties of app.css, read again whenever the scheme changes or the page is printed.
 */
class Theme {
  /** Grows when the colours may have changed; canvases redraw on it. */
  version = $state(0);
  printing = $state(false);
  private known = new Map<string, string>();

  constructor() {
    const refresh = (): void => {
      this.known.clear();
      this.version++;
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);
    const print = matchMedia("print");
    print.addEventListener("change", () => {
      this.printing = print.matches;
      refresh();
    });
  }

  /** The value of `--name`. */
  colour(name: string): string {
    let value = this.known.get(name);
    if (value === undefined) {
      value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
      this.known.set(name, value);
    }
    return value;
  }

  font(size: number): string {
    return `${size}px ${this.colour("font")}`;
  }
}

export const theme = new Theme();
