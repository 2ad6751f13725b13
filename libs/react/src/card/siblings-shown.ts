import { createContext } from 'react';
import type { ToolCallView } from '@countersign/contracts';

/** Hears which other calls of an all-or-nothing step stand on the card. */
export const SiblingsContext = createContext<((calls: readonly ToolCallView[]) => void) | undefined>(undefined);
