// The price list of the web page.
export function showPrice(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`;
}

export function sortByPrice<T extends { cents: number }>(goods: T[]): T[] {
  return [...goods].sort((a, b) => a.cents - b.cents);
}
