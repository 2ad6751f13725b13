import { isDeepStrictEqual } from 'node:util';
import type { ModalView } from '@slack/web-api';
import type { ApprovalView } from '@countersign/contracts';
import type { ChannelAnswer } from '../response-port.js';
import { formDecisions, formOf } from './form-decisions.js';
import type { ViewSubmission } from './payload.js';
import { code, plain } from './sections.js';

const reasonMax = 2_000;
export const modalId = 'countersign-answer';

const options = {
  approve: 'Approve as it is',
  edit: 'Approve with the arguments below',
  deny: 'Deny',
} as const;

const cutWords = 'Not everything is shown here: approve it in the inbox, where the whole is.';

const nothingWords = 'Nothing can be decided in this form: look at the whole in the inbox, and decide it there.';

/**
 * The modal of "More…": the arguments that its token binds, a reason, and edited arguments. Arguments that are not shown
 * whole cannot be approved here.
 */
export function answerModal(approval: ApprovalView, token: string): ModalView {
  const { question, shownArguments, isWhole, args } = formOf(approval);
  const decisions = formDecisions(approval);
  if (decisions.length === 0) return noticeModal(nothingWords);
  const choices = decisions.map((value) => ({ text: { type: 'plain_text' as const, text: options[value] }, value }));
  return {
    type: 'modal',
    callback_id: modalId,
    private_metadata: token,
    title: { type: 'plain_text', text: 'Answer' },
    submit: { type: 'plain_text', text: 'Send' },
    close: { type: 'plain_text', text: 'Close' },
    blocks: [
      plain(question),
      code(shownArguments),
      ...(isWhole ? [] : [plain(cutWords)]),
      {
        type: 'input',
        block_id: 'decision',
        label: { type: 'plain_text', text: 'Your answer' },
        element: { type: 'static_select', action_id: 'value', options: choices },
      },
      {
        type: 'input',
        block_id: 'reason',
        optional: true,
        label: { type: 'plain_text', text: 'Reason' },
        element: { type: 'plain_text_input', action_id: 'value', multiline: true, max_length: reasonMax },
      },
      ...(args === undefined || !decisions.includes('edit') ? [] : [argumentsInput(args)]),
    ],
  };
}

function argumentsInput(initial: string) {
  return {
    type: 'input' as const,
    block_id: 'arguments',
    optional: true,
    label: { type: 'plain_text' as const, text: 'Arguments (JSON); a masked value that you leave stays as it is' },
    element: { type: 'plain_text_input' as const, action_id: 'value', multiline: true, initial_value: initial },
  };
}

/** A modal with one line for the person. */
export function noticeModal(words: string): ModalView {
  return {
    type: 'modal',
    title: { type: 'plain_text', text: 'Countersign' },
    close: { type: 'plain_text', text: 'Close' },
    blocks: [{ type: 'section', text: { type: 'plain_text', text: words, emoji: false } }],
  };
}

/**
 * Returns whether a person approves the arguments as they are, and has changed them in the modal: then nobody knows which
 * ones they mean.
 */
export function hasUnusedArguments(payload: ViewSubmission, approval: ApprovalView): boolean {
  const text = fieldOf(payload, 'arguments').trim();
  if (fieldOf(payload, 'decision') !== 'approve' || text === '') return false;
  try {
    return !isDeepStrictEqual(JSON.parse(text), approval.arguments);
  } catch {
    return true;
  }
}

function fieldOf({ view }: ViewSubmission, block: string): string {
  const given = view.state.values[block]?.['value'];
  return given?.selected_option?.value ?? given?.value ?? '';
}

/** The submitted values of the modal; undefined when they are none of the choices. */
export function readModal(payload: ViewSubmission): Pick<ChannelAnswer, 'decision' | 'reason'> | undefined {
  const type = fieldOf(payload, 'decision');
  const reason = fieldOf(payload, 'reason').slice(0, reasonMax);
  const why = reason === '' ? {} : { reason };
  if (type === 'edit') return { decision: { type, argumentsText: fieldOf(payload, 'arguments') }, ...why };
  return type === 'approve' || type === 'deny' ? { decision: { type }, ...why } : undefined;
}
