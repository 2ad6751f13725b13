import { useState } from 'react';
import type { ApprovalView, Decision, Remember } from '@countersign/contracts';
import { needsSignature } from '@countersign/text';
import type { ApprovalsClient } from '../client/approvals-client.js';
import { readApproval, respond } from '../client/approvals.js';
import type { Remarks } from '../client/approvals.js';
import { ProblemError, problemOf } from '../client/problem.js';
import { useOutbox } from '../live/outbox.js';
import { useClient } from '../live/use-client.js';
import { usePendingStore } from '../live/use-pending.js';
import { problemWords, sentWords } from '../text/words.js';
import { useToast } from '../ui/toast.js';

const signElsewhere = {
  status: 403,
  code: 'signature-required',
  detail: 'This needs an answer that is signed with a passkey. Give it in the inbox of Countersign. Nothing was sent.',
} as const;

/** Signs the answer where its rule, or that of edited arguments, counts only signed ones. */
async function respondSigned(
  client: ApprovalsClient,
  approval: ApprovalView,
  decision: Decision,
  remarks: Remarks,
  remember: Remember | undefined,
): Promise<ApprovalView> {
  const signed = async (): Promise<ApprovalView> => {
    if (client.sign === undefined) throw new ProblemError(signElsewhere);
    const signature = await client.sign(approval, decision, remarks.instruction);
    return respond(client, approval, decision, remarks, { remember, signature });
  };
  if (needsSignature(approval.requirement)) return signed();
  try {
    return await respond(client, approval, decision, remarks, { remember });
  } catch (error) {
    if (problemOf(error).code === 'signature-required') return signed();
    throw error;
  }
}

/** What sends decisions, and what came of the last one. */
export interface Sending {
  readonly send: (decision: Decision) => Promise<void>;
  readonly isBusy: boolean;
  /** Why the last one was refused, in words; empty: it was not. */
  readonly problem: string;
}

/** Returns whether a decision may wait before it is sent. An edit, an answer and a signature have a second look of their own. */
function canWait({ requirement }: ApprovalView, { type }: Decision, { reason }: Remarks): boolean {
  const { requireReason } = requirement;
  // The person signs at once, and a missing reason is refused at once.
  const isAtOnce = needsSignature(requirement) || (requireReason.includes(type) && reason.trim() === '');
  return (type === 'approve' || type === 'deny') && !isAtOnce;
}

/** What comes of a decision. */
interface SendingListener {
  readonly onSent: (approval: ApprovalView) => void;
  /** It is sent in a moment, unless the person takes it back. */
  readonly onHeld?: () => void;
  /** It was refused, because another call that runs together with this one is no longer as it was shown. */
  readonly onOthersChanged?: () => void;
  /** What was held is recorded. */
  readonly onHeldSent?: (approval: ApprovalView) => void;
}

const tooLate = ['already-resolved', 'expired', 'digest-mismatch'];

/** Sends one decision at a time, reports the result, and reloads when it was too late. */
export function useSending(
  approval: ApprovalView,
  { remarks, remember }: { remarks: Remarks; remember: Remember | undefined },
  { onSent, onOthersChanged, onHeld, onHeldSent }: SendingListener,
): Sending {
  const client = useClient();
  const store = usePendingStore();
  const outbox = useOutbox();
  const toast = useToast();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const report = ({ type }: Decision, answered: ApprovalView): void => {
    toast({ tone: type === 'deny' ? 'neutral' : 'good', text: sentWords(type, answered) });
    store.apply(answered);
  };
  /** Shows what became of it where it was too late. */
  const lookAgain = async (error: unknown): Promise<void> => {
    if (!tooLate.includes(problemOf(error).code)) return;
    const now = await readApproval(client, approval.approvalId).catch(() => undefined);
    if (now === undefined) return;
    store.apply(now);
    if (now.state === 'pending' && now.shownOthersDigest !== approval.shownOthersDigest) onOthersChanged?.();
  };
  const sendHeld = (decision: Decision) => async (isLeaving: boolean) => {
    try {
      const answered = await respond(client, approval, decision, remarks, { remember, isLeaving });
      report(decision, answered);
      onHeldSent?.(answered);
      return '';
    } catch (error) {
      await lookAgain(error);
      return problemWords(problemOf(error), Date.now());
    }
  };
  const send = async (decision: Decision): Promise<void> => {
    if (isBusy) return;
    setProblem('');
    const { type } = decision;
    if (canWait(approval, decision, remarks) && outbox?.hold({ approval, type, send: sendHeld(decision) }) === true) {
      onHeld?.();
      return;
    }
    setBusy(true);
    try {
      const answered = await respondSigned(client, approval, decision, remarks, remember);
      report(decision, answered);
      onSent(answered);
    } catch (error) {
      const words = problemWords(problemOf(error), Date.now());
      setProblem(words);
      if (tooLate.includes(problemOf(error).code)) toast({ tone: 'bad', text: words });
      await lookAgain(error);
    }
    setBusy(false);
  };
  return { send, isBusy, problem };
}
