import { useState } from 'react';
import type { ApprovalView, Decision, Remember } from '@countersign/contracts';
import type { ApprovalsClient } from '../client/approvals-client.js';
import { readApproval, respond } from '../client/approvals.js';
import type { Remarks } from '../client/approvals.js';
import { ProblemError, problemOf } from '../client/problem.js';
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
  const { requireSignature, minAssurance } = approval.requirement;
  const signed = async (): Promise<ApprovalView> => {
    if (client.sign === undefined) throw new ProblemError(signElsewhere);
    const signature = await client.sign(approval, decision, remarks.instruction);
    return respond(client, approval, decision, remarks, { remember, signature });
  };
  if (requireSignature === true || minAssurance === 'high') return signed();
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

/** Sends one decision at a time, reports the result, and reloads when it was too late. */
export function useSending(
  approval: ApprovalView,
  { remarks, remember }: { remarks: Remarks; remember: Remember | undefined },
  onSent: (approval: ApprovalView) => void,
): Sending {
  const client = useClient();
  const store = usePendingStore();
  const toast = useToast();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const send = async (decision: Decision): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setProblem('');
    try {
      const answered = await respondSigned(client, approval, decision, remarks, remember);
      toast({ tone: decision.type === 'deny' ? 'neutral' : 'good', text: sentWords(decision.type, answered) });
      store.apply(answered);
      onSent(answered);
    } catch (error) {
      const refused = problemOf(error);
      const words = problemWords(refused, Date.now());
      setProblem(words);
      if (['already-resolved', 'expired', 'digest-mismatch'].includes(refused.code)) {
        toast({ tone: 'bad', text: words });
        await readApproval(client, approval.approvalId).then(store.apply, () => undefined);
      }
    }
    setBusy(false);
  };
  return { send, isBusy, problem };
}
