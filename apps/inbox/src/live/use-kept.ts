import { useState } from 'react';

/** A choice of the person that this browser keeps. A kept text that is none of the choices is ignored. */
export function useKept<T extends string>(
  name: string,
  choices: readonly T[],
  initial: T,
): readonly [T, (choice: T) => void] {
  const [choice, setChoice] = useState<T>(() => choices.find((one) => one === kept(name)) ?? initial);
  const keep = (next: T): void => {
    setChoice(next);
    try {
      localStorage.setItem(`countersign-${name}`, next);
    } catch {
      // The browser keeps nothing: the choice holds for this page.
    }
  };
  return [choice, keep];
}

function kept(name: string): string | null {
  try {
    return localStorage.getItem(`countersign-${name}`);
  } catch {
    return null;
  }
}
