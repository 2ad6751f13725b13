import { createContext } from 'react';
import type { ToolCallView } from '@countersign/contracts';

/** The other calls of an all-or-nothing step that stand on the card, and the digest of what all of them proposed before they were read. */
export interface ShownSiblings {
  readonly calls: readonly ToolCallView[];
  readonly digest: string | undefined;
}

/** Between the other calls of a step and the pane around them. */
export interface SiblingsListener {
  readonly onShown: (shown: ShownSiblings) => void;
  /** With this digest an answer was refused, because one of them has changed: they are read again at once. */
  readonly refused: string | undefined;
}

export const SiblingsContext = createContext<SiblingsListener | undefined>(undefined);
