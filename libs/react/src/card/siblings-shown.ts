import { createContext } from 'react';
import type { ToolCallView } from '@countersign/contracts';

/** The other calls of an all-or-nothing step that stand on the card, and the digest of what all of them proposed before they were read. */
export interface ShownSiblings {
  readonly calls: readonly ToolCallView[];
  readonly digest: string | undefined;
}

/** Hears which they are. */
export const SiblingsContext = createContext<((shown: ShownSiblings) => void) | undefined>(undefined);
