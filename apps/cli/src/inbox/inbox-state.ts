import type { ApprovalView, JsonObject } from '@countersign/contracts';
import type { DecisionToSend, Remarks } from '../commands/respond.js';
import type { Style } from '../text/style.js';
import type { Form } from './form.js';
import type { Key } from './keys.js';
import type { SeenLines, ShownLines } from './seen-lines.js';

/** All that the screen shows. */
export interface InboxState {
  /** The pending approvals: the highest risk first, the calls of one step together. */
  readonly approvals: readonly ApprovalView[];
  /** More wait than were loaded. */
  readonly hasMore: boolean;
  readonly selectedId: string | undefined;
  readonly view: View;
  /** What was on the screen of the last card or form. */
  readonly seen: SeenLines | undefined;
  /**
   * Somebody else changed or ended what the person was looking at: until Enter no key decides or chooses. Attack on attention: the
   * letters of a reason go on as keys, and the Enter after them sends what the person has not looked at.
   */
  readonly isInterrupted: boolean;
  /** Shown until the next key. */
  readonly notice: Notice | undefined;
  readonly connection: 'live' | 'lost';
  /** The approval whose response is being sent. */
  readonly sendingId: string | undefined;
  /** The text of the editor that could not be sent, so that the person can continue from it. */
  readonly draft: { readonly approvalId: string; readonly text: string } | undefined;
}

export type View =
  | { readonly kind: 'list' }
  | { readonly kind: 'card'; readonly scroll: number }
  | { readonly kind: 'form'; readonly scroll: number; readonly form: Form };

export interface Notice {
  readonly text: string;
  readonly tone: keyof Style;
}

/** The inputs of the inbox. */
export type Message =
  /**
   * `scrollMax` and `page` are how far the last frame could be scrolled, and how many lines it showed; `shown`: which
   * ones, of a card or a form.
   */
  | {
      readonly type: 'key';
      readonly key: Key;
      readonly scrollMax: number;
      readonly page: number;
      readonly shown: ShownLines | undefined;
    }
  | { readonly type: 'loaded'; readonly approvals: readonly ApprovalView[]; readonly hasMore: boolean }
  | { readonly type: 'changed'; readonly approval: ApprovalView; readonly nowMs: number }
  | { readonly type: 'sent'; readonly approval: ApprovalView; readonly words: string }
  | { readonly type: 'refused'; readonly approvalId: string; readonly words: string }
  | { readonly type: 'edited'; readonly approval: ApprovalView; readonly value: JsonObject; readonly text: string }
  | {
      readonly type: 'edit-failed';
      readonly approvalId: string;
      readonly text: string | undefined;
      readonly words: string;
    }
  | { readonly type: 'connection'; readonly connection: InboxState['connection'] }
  | { readonly type: 'restored' };

/** The side effects that the inbox requests. */
export type Effect =
  | {
      readonly type: 'respond';
      readonly approval: ApprovalView;
      readonly decision: DecisionToSend;
      readonly remarks: Remarks;
    }
  | { readonly type: 'edit'; readonly approval: ApprovalView; readonly text: string | undefined }
  | { readonly type: 'redraw' }
  | { readonly type: 'quit' };

/** The state after a message, and what is to be done because of it. */
export interface Step {
  readonly state: InboxState;
  readonly effect?: Effect;
}

/** The inbox before anything was loaded. */
export const initialInboxState: InboxState = {
  approvals: [],
  hasMore: false,
  selectedId: undefined,
  view: { kind: 'list' },
  seen: undefined,
  isInterrupted: false,
  notice: undefined,
  connection: 'live',
  sendingId: undefined,
  draft: undefined,
};

/** The approval that the next key is about. */
export function selectedOf(state: InboxState): ApprovalView | undefined {
  return state.approvals.find(({ approvalId }) => approvalId === state.selectedId);
}
