// tiny emitter, bundled.
export function emitter() {
  const listeners = {};
  return {
    on(name, listener) {
      (listeners[name] = listeners[name] || []).push(listener);
    },
    emit(name, value) {
      (listeners[name] || []).forEach((listener) => listener(value));
    },
  };
}
