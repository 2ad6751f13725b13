import { useEffect, useState } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { problemOf, problemWords, respondInBulk, usePendingStore } from '@countersign/react/parts';
import type { BulkResult, Problem } from '@countersign/react/parts';
import { client } from '../api/client.js';
import { isShownWhole } from './shown-whole.js';

/** The decisions that can be given to many at once. */
export type BulkType = 'approve' | 'deny';

/** Why each approval cannot be decided, by decision and by its id; a decision is missing until the server has checked it. */
export type BulkPreview = Readonly<Partial<Record<BulkType, ReadonlyMap<string, Problem>>>>;

/** Sent with the preview. The person may type the reason later, so its absence must not be the refusal. */
const someReason = { reason: 'preview', instruction: '' };

/** Asks the server which of the approvals this person may decide. Nothing is recorded. */
export function useBulkPreview(approvals: readonly ApprovalView[], isAsked: boolean): BulkPreview {
  const [preview, setPreview] = useState<BulkPreview>({});
  useEffect(() => {
    if (!isAsked) return undefined;
    let isOver = false;
    for (const type of ['approve', 'deny'] as const) {
      respondInBulk(client, approvals, { type }, { remarks: someReason, dryRun: true }).then(
        ({ results }) => !isOver && setPreview((before) => ({ ...before, [type]: problemsIn(results) })),
        // The answer itself is checked as well: without a preview all are sent.
        () => !isOver && setPreview((before) => ({ ...before, [type]: new Map() })),
      );
    }
    return () => {
      isOver = true;
    };
  }, [approvals, isAsked]);
  return preview;
}

function problemsIn(results: readonly BulkResult[]): ReadonlyMap<string, Problem> {
  return new Map(
    results.flatMap(({ approvalId, problem }) => (problem === undefined ? [] : [[approvalId, problem] as const])),
  );
}

/** One response to many approvals, and what came of it. */
export interface BulkSending {
  readonly send: (
    approvals: readonly ApprovalView[],
    type: BulkType,
    how: { reason: string; isTogether: boolean },
  ) => Promise<void>;
  readonly results: readonly BulkResult[] | undefined;
  readonly problem: string;
  readonly isBusy: boolean;
}

/** Sends one response to many approvals. */
export function useBulkSending(onAllDone: (type: BulkType, count: number) => void): BulkSending {
  const [results, setResults] = useState<readonly BulkResult[]>();
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const store = usePendingStore();
  const send: BulkSending['send'] = async (approvals, type, { reason, isTogether }) => {
    setBusy(true);
    setProblem('');
    try {
      const mode = isTogether ? 'all-or-nothing' : 'independent';
      const remarks = { reason, instruction: '' };
      const shown = approvals.filter(isShownWhole);
      const answer = await respondInBulk(client, approvals, { type }, { mode, remarks, shown });
      for (const { approval } of answer.results) if (approval !== undefined) store.apply(approval);
      if (answer.results.every(({ status }) => status === 'done')) onAllDone(type, approvals.length);
      setResults(answer.results);
    } catch (error) {
      setProblem(problemWords(problemOf(error), Date.now()));
    }
    setBusy(false);
  };
  return { send, results, problem, isBusy };
}
