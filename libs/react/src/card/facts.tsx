import type { ReactNode } from 'react';
import type { ApprovalView, Verdict } from '@countersign/contracts';
import { chainWords, endedProposalWords, ordinal, requesterWords } from '@countersign/text';
import { useSurroundings } from '../live/surroundings.js';
import { useClient } from '../live/use-client.js';
import { CopyButton } from '../ui/copy-button.js';
import { LinkTo } from '../ui/link-to.js';
import { Marked, Name } from '../ui/marked.js';
import { Ago } from '../ui/time.js';
import { Deliveries } from './deliveries.js';

/** The recorded facts about a request: who asks, where it comes from, and which rule asks for people. */
export function Facts({ approval, verdict }: { approval: ApprovalView; verdict: Verdict | undefined }): ReactNode {
  const { agentId, runId, callId, requestedAt, round, chain, requestedBy } = approval;
  const { hrefs } = useSurroundings();
  const { events } = useClient();
  return (
    <section aria-labelledby="card-facts">
      <h3 id="card-facts">Who asks, and why you</h3>
      <dl className="cs-facts">
        <Fact name="Agent">
          <Marked text={agentId} />
        </Fact>
        <Fact name="Asked by">{requesterWords(approval)}</Fact>
        {chain.length > 0 && <Fact name="Inside">{chainWords(chain, requestedBy)}</Fact>}
        <Fact name="Run">
          <LinkTo href={hrefs?.run?.(runId)}>
            <Marked text={runId} />
          </LinkTo>
        </Fact>
        <Fact name="Asked">
          <Ago time={requestedAt} />
          {round > 1 && `, for the ${ordinal(round)} time`}
        </Fact>
        {approval.endedProposals.length > 0 && (
          <Fact name="Not approved before">{endedProposalWords(approval.endedProposals)}</Fact>
        )}
        <Fact name="Rule">
          {verdict === undefined ? <span className="cs-muted">…</span> : <Rule verdict={verdict} />}
        </Fact>
        <Fact name="Call">
          <LinkTo href={hrefs?.call?.(callId)} className="cs-mono">
            <Marked text={callId} />
          </LinkTo>
          <CopyButton label="Copy the call id" text={() => callId} />
        </Fact>
        <Fact name="Digest">
          <code className="cs-digest">
            <Marked text={approval.actionDigest} />
          </code>
          <CopyButton label="Copy the digest" text={() => approval.actionDigest} />
        </Fact>
        {events !== undefined && (
          <Fact name="Told">
            <Deliveries approval={approval} events={events} />
          </Fact>
        )}
      </dl>
    </section>
  );
}

function Rule({ verdict: { ruleId, policyVersion, why } }: { verdict: Verdict }): ReactNode {
  return (
    <>
      <Name text={ruleId} />
      <span className="cs-muted"> of policy </span>
      <code title={policyVersion}>{policyVersion.slice(0, 15)}…</code>
      {why.length > 0 && (
        <span className="cs-muted">
          {' '}
          · <Marked text={why.join('; ')} />
        </span>
      )}
    </>
  );
}

/** One labelled fact of a card. */
export function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <div className="cs-fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
