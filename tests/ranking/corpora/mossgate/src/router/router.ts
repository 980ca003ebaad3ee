import { askGuards, Guard } from "./guards";
import { ScrollMemory } from "./scroll";
import { matchPattern, parsePattern, Piece } from "./pattern";

export interface Route {
  pattern: string;
  view: string;
  guards?: Guard[];
  children?: Route[];
}

interface Flat {
  pieces: Piece[];
  view: string;
  guards: Guard[];
}

/** Maps addresses to views, and asks the guards before a view is entered. */
export class Router {
  private readonly routes: Flat[];
  private readonly scroll = new ScrollMemory();
  private leaving: (() => boolean) | undefined;

  constructor(routes: Route[]) {
    this.routes = flatten(routes, "", []);
  }

  /** Go to an address; returns the view that is entered, which a guard may have changed. */
  async go(address: string): Promise<string | undefined> {
    if (this.leaving !== undefined && !this.leaving()) return undefined;
    for (const route of this.routes) {
      const parameters = matchPattern(route.pieces, address);
      if (parameters === undefined) continue;
      const instead = await askGuards(route.guards, address, parameters);
      if (instead !== undefined) return this.go(instead);
      this.scroll.remember(address);
      return route.view;
    }
    return undefined;
  }

  /** Ask a function before the address changes, for a view with unsaved input. */
  holdBack(leaving: () => boolean): void {
    this.leaving = leaving;
  }

  back(): number {
    return this.scroll.restore();
  }
}

function flatten(routes: Route[], prefix: string, outer: Guard[]): Flat[] {
  return routes.flatMap((route) => {
    const pattern = `${prefix}${route.pattern}`;
    const guards = [...outer, ...(route.guards ?? [])];
    const own = { pieces: parsePattern(pattern), view: route.view, guards };
    return [own, ...flatten(route.children ?? [], pattern, guards)];
  });
}
