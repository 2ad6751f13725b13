import { useState } from 'react';
import type { ApprovalView, Decision, ResponseView } from '@countersign/contracts';
import { withdraw } from '../client/approvals.js';
import type { Remarks } from '../client/approvals.js';
import { problemOf } from '../client/problem.js';
import { useAccount } from '../live/use-account.js';
import { useClient } from '../live/use-client.js';
import { usePendingStore } from '../live/use-pending.js';
import { problemWords } from '../text/words.js';
import { excludedWords } from './excluded-words.js';
import { countedAnswer } from './own-answer.js';
import { isOwnChange, useChange } from './use-change.js';
import type { Change } from './use-change.js';
import { useSending } from './use-sending.js';

/** The decision of one person on one approval, for a card of one's own. */
export interface DecisionHook {
  /** False where the person may look only: `why` says it in words. It is the server's answer. */
  readonly mayDecide: boolean;
  readonly why: string | undefined;
  /** What has changed since the person looked. Show it: until `acknowledge`, `decide` sends nothing. */
  readonly change: Change | undefined;
  readonly acknowledge: () => void;
  /** This person's vote, while it counts. */
  readonly mine: ResponseView | undefined;
  /** Sends a decision with the digests of what is on screen. */
  readonly decide: (decision: Decision) => Promise<void>;
  /** Takes this person's vote back while the approval is pending. */
  readonly takeBack: () => Promise<void>;
  readonly isBusy: boolean;
  /** Why the last one was refused, in words; empty: it was not. */
  readonly problem: string;
}

const noRemarks: Remarks = { reason: '', instruction: '' };

/**
 * What a person can do with an approval that is on screen. Show all of `approval` before you offer `decide`: the person agrees to
 * what stands there.
 */
export function useDecision(approval: ApprovalView, remarks: Partial<Remarks> = {}): DecisionHook {
  const account = useAccount();
  const client = useClient();
  const store = usePendingStore();
  const { change, acknowledge } = useChange(approval);
  const [refused, setRefused] = useState('');
  const written = { remarks: { ...noRemarks, ...remarks }, remember: undefined };
  const onSent = (answered: ApprovalView): void => {
    if (isOwnChange(approval, answered, account.principal)) acknowledge(answered);
  };
  const { send, isBusy, problem } = useSending(approval, written, { onSent, onHeldSent: onSent });
  const mine = countedAnswer(approval, account.principal);
  const why = excludedWords(account, approval, mine !== undefined);
  const mayDecide = approval.state === 'pending' && mine === undefined && why === undefined;
  return {
    mayDecide,
    why,
    change,
    acknowledge: () => acknowledge(approval),
    mine,
    decide: async (decision) => {
      setRefused('');
      if (mayDecide && change === undefined) await send(decision);
    },
    takeBack: async () => {
      if (mine === undefined) return;
      setRefused('');
      await withdraw(client, approval.approvalId, mine.number).then(store.apply, (error: unknown) =>
        setRefused(problemWords(problemOf(error), Date.now())),
      );
    },
    isBusy,
    problem: refused === '' ? problem : refused,
  };
}
