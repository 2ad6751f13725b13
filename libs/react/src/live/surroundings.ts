import { createContext, useContext } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';

/** The page around a card: where its links lead, and what only some pages have. */
export interface Surroundings {
  /** The addresses of other pages. A name without an address is shown as text. */
  readonly hrefs?: {
    readonly approval?: (approvalId: string) => string;
    readonly run?: (runId: string) => string;
    readonly call?: (callId: string) => string;
    /** The calls whose outcome is unknown. */
    readonly unknown?: string;
  };
  /** Goes to one of these addresses without loading the page. Default: the browser follows the link. */
  readonly navigate?: (href: string) => void;
  /** Answers all calls of a step at once. */
  readonly renderStep?: (approvals: readonly ApprovalView[], close: () => void) => ReactNode;
  /** True where approvers may turn an approval into a standing grant. Default: false. */
  readonly canRemember?: boolean;
  /** True for keys that act on the whole page, such as `a` for the approve button. Default: false. */
  readonly hasShortcuts?: boolean;
}

/** The page around the cards below. */
export const SurroundingsContext = createContext<Surroundings>({});

/** The page around the card. */
export function useSurroundings(): Surroundings {
  return useContext(SurroundingsContext);
}
