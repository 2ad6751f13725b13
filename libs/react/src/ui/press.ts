import type { MouseEvent } from 'react';

/**
 * Returns the click handler of a button that decides something. It ignores the second press of a double click: by then another
 * card, or another button, may stand where the person pressed. A key counts as one press.
 */
export function onPress(act: () => void): (event: MouseEvent) => void {
  return ({ detail }) => {
    if (detail <= 1) act();
  };
}
