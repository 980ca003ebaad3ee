/** Remembers how far each view was scrolled, and restores it when going back. */
export class ScrollMemory {
  private readonly positions = new Map<string, number>();
  private readonly visited: string[] = [];

  remember(address: string): void {
    const last = this.visited.at(-1);
    if (last !== undefined) this.positions.set(last, window.scrollY);
    this.visited.push(address);
  }

  restore(): number {
    this.visited.pop();
    const position = this.positions.get(this.visited.at(-1) ?? "") ?? 0;
    window.scrollTo(0, position);
    return position;
  }
}
