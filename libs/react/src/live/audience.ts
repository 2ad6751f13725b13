/** Listeners, and what tells them something. */
export interface Audience<T> {
  readonly listen: (listener: (news: T) => void) => () => void;
  readonly tell: (news: T) => void;
}

/** Nobody listens yet. */
export function createAudience<T>(): Audience<T> {
  const listeners = new Set<(news: T) => void>();
  return {
    listen: (listener: (news: T) => void): (() => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tell: (news: T): void => {
      for (const listener of listeners) listener(news);
    },
  };
}
