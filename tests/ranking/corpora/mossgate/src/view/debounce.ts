/** Call a function once the calls have paused for a while, so that a check does not run at every key. */
export function debounce<A extends unknown[]>(action: (...given: A) => void, pause: number): (...given: A) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (...given) => {
    if (timer !== undefined) clearTimeout(timer);
    timer = setTimeout(() => action(...given), pause);
  };
}
