import { useContext, useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { readApproval, readCall } from '../client/approvals.js';
import { repeatWhileVisible } from '../live/repeat.js';
import { useSurroundings } from '../live/surroundings.js';
import { useClient } from '../live/use-client.js';
import { useLoaded } from '../live/use-loaded.js';
import { useNews } from '../live/use-news.js';
import { usePending } from '../live/use-pending.js';
import { summaryOf } from '../text/json-tree.js';
import { countWords } from '../text/words.js';
import { StateBadge } from '../ui/badges.js';
import { LinkTo } from '../ui/link-to.js';
import { Marked, Name } from '../ui/marked.js';
import { Part } from './seen.js';
import { SiblingsContext } from './siblings-shown.js';

const shownMax = 12;
/** After a reading of which a part has failed. */
const againMs = 4000;

/** The other calls of the same step. In an all-or-nothing batch a denial cancels them. */
export function Siblings({ approval }: { approval: ApprovalView }): ReactNode {
  const { batch, callId } = approval;
  const others = batch?.callIds.filter((id) => id !== callId) ?? [];
  if (batch === null || others.length === 0) return null;
  return <Others {...{ approval, batch, others }} />;
}

interface OthersProps {
  readonly approval: ApprovalView;
  readonly batch: NonNullable<ApprovalView['batch']>;
  readonly others: readonly string[];
}

function Others({ approval, batch, others }: OthersProps): ReactNode {
  const client = useClient();
  const { approvalId, runId, state } = approval;
  const [isAll, setAll] = useState(false);
  const shown = isAll ? others : others.slice(0, shownMax);
  const isTogether = batch.mode === 'all-or-nothing';
  const { value, reload } = useLoaded(`${shown.join(' ')} ${state}`, async (signal) => {
    // Attack: a call is edited between the reads. Its digest is read first, so an approval of what stands here is then refused.
    const digest = isTogether ? (await readApproval(client, approvalId)).shownOthersDigest : undefined;
    const calls = await Promise.all(shown.map((id) => readCall(client, id, signal).catch(() => undefined)));
    return { calls, digest };
  });
  // An approval may release what others have edited since the card was opened.
  useNews({ runId, isOver: state !== 'pending' }, reload);
  const isRead = useReported(value, { isTogether, reload });
  const otherWords = countWords(others.length, 'other call');
  return (
    <section aria-labelledby="card-siblings">
      <h3 id="card-siblings">{isTogether ? 'All or nothing' : 'Asked in the same step'}</h3>
      <p>
        {isTogether
          ? `This call runs only together with ${otherWords}. If it is denied, all of them are cancelled.`
          : `The agent asked for ${otherWords} in this step. Each is decided on its own${inTurnWords(batch.mode)}.`}
      </p>
      <ul className="cs-siblings" aria-label="Other calls of the step">
        {/* From the first moment on each has its line, so that what is below does not move. */}
        {shown.map((id, index) => (
          <Sibling key={id} call={value?.calls[index]} />
        ))}
      </ul>
      {others.length > shown.length && (
        <button className="cs-button cs-quiet" type="button" onClick={() => setAll(true)}>
          Show {others.length - shown.length} more
        </button>
      )}
      <WholeStep approval={approval} callIds={batch.callIds} />
      {isTogether && <Part isWhole={isRead && shown.length === others.length} />}
    </section>
  );
}

interface Reading {
  readonly calls: readonly (ToolCallView | undefined)[];
  readonly digest: string | undefined;
}

/** Tells the pane what stands on the card, and reads again what could not be read. Returns whether all of it was read. */
function useReported(
  value: Reading | undefined,
  { isTogether, reload }: { isTogether: boolean; reload: () => void },
): boolean {
  const { onShown, refused } = useContext(SiblingsContext) ?? {};
  // Attack: one of them cannot be read when it is edited, and the digest of that reading has the edit.
  const isRead = value?.calls.every((call) => call !== undefined) === true;
  useEffect(() => {
    if (!isTogether || value === undefined || !isRead) return;
    const calls = value.calls.map((call) => ({ ...call, arguments: argumentsOf(call) }));
    onShown?.({ ...value, calls });
  }, [isTogether, isRead, value, onShown]);
  useEffect(() => {
    if (refused !== undefined) reload();
  }, [refused, reload]);
  const isMissing = value !== undefined && isTogether && !isRead;
  useEffect(() => (isMissing ? repeatWhileVisible(againMs, reload) : undefined), [isMissing, reload]);
  return isRead;
}

function inTurnWords(mode: NonNullable<ApprovalView['batch']>['mode']): string {
  return mode === 'sequential' ? ', one after another' : '';
}

/** All that waits in the step, to be answered at once after a preview. */
function WholeStep({ approval, callIds }: { approval: ApprovalView; callIds: readonly string[] }): ReactNode {
  const { approvals } = usePending();
  const { renderStep } = useSurroundings();
  const [isReviewing, setReviewing] = useState(false);
  const waiting = approvals.filter(
    // Attack: an agent lists calls of others as its step.
    ({ callId, requestedBy }) => requestedBy === approval.requestedBy && callIds.includes(callId),
  );
  if (renderStep === undefined || (waiting.length < 2 && !isReviewing)) return null;
  return (
    <div>
      <button className="cs-button" type="button" onClick={() => setReviewing(true)}>
        Review{' '}
        {waiting.length === callIds.length
          ? `all ${waiting.length}`
          : `${waiting.length} of the ${callIds.length} calls`}{' '}
        of the step …
      </button>
      {isReviewing && renderStep(waiting, () => setReviewing(false))}
    </div>
  );
}

function Sibling({ call }: { call: ToolCallView | undefined }): ReactNode {
  const { hrefs } = useSurroundings();
  if (call === undefined) return <li className="cs-muted">…</li>;
  const pending = pendingOf(call);
  return (
    <li>
      <StateBadge state={call.state} waitsForTurn={call.waitsForTurn} />
      <LinkTo
        className="cs-mono"
        href={pending === undefined ? hrefs?.call?.(call.callId) : hrefs?.approval?.(pending.approvalId)}
      >
        <Name text={call.toolName} />
      </LinkTo>
      <span className="cs-sibling-arguments cs-mono">
        <Marked text={summaryOf(argumentsOf(call), 120)} />
      </span>
    </li>
  );
}

/** What would run now: while an edit waits for more people, the call has what was requested. */
function argumentsOf(call: ToolCallView): ToolCallView['arguments'] {
  return (pendingOf(call) ?? call).arguments;
}

function pendingOf({ approval }: ToolCallView): ApprovalView | undefined {
  return approval?.state === 'pending' ? approval : undefined;
}
