import type { ReactNode } from 'react';
import type { ApprovalView, Verdict } from '@countersign/contracts';
import { chainWords, endedProposalWords, ordinal, requesterWords } from '@countersign/text';
import { hrefs } from '../routes.js';
import { Link } from '../ui/link.js';
import { Marked } from '../ui/marked.js';
import { Ago } from '../ui/time.js';
import { Deliveries } from './deliveries.js';

/** The recorded facts about a request: who asks, where it comes from, and which rule asks for people. */
export function Facts({ approval, verdict }: { approval: ApprovalView; verdict: Verdict | undefined }): ReactNode {
  const { agentId, runId, callId, requestedAt, round, chain, requestedBy } = approval;
  return (
    <section aria-labelledby="card-facts">
      <h3 id="card-facts">Who asks, and why you</h3>
      <dl className="facts">
        <Fact name="Agent">
          <Marked text={agentId} />
        </Fact>
        <Fact name="Asked by">{requesterWords(approval)}</Fact>
        {chain.length > 0 && <Fact name="Inside">{chainWords(chain, requestedBy)}</Fact>}
        <Fact name="Run">
          <Link href={hrefs.run(runId)}>
            <Marked text={runId} />
          </Link>
        </Fact>
        <Fact name="Asked">
          <Ago time={requestedAt} />
          {round > 1 && `, for the ${ordinal(round)} time`}
        </Fact>
        {approval.endedProposals.length > 0 && (
          <Fact name="Not approved before">{endedProposalWords(approval.endedProposals)}</Fact>
        )}
        <Fact name="Rule">{verdict === undefined ? <span className="muted">…</span> : <Rule verdict={verdict} />}</Fact>
        <Fact name="Call">
          <Link href={hrefs.call(callId)} className="mono">
            <Marked text={callId} />
          </Link>
        </Fact>
        <Fact name="Digest">
          <code className="digest">
            <Marked text={approval.actionDigest} />
          </code>
        </Fact>
        <Fact name="Told">
          <Deliveries approval={approval} />
        </Fact>
      </dl>
    </section>
  );
}

function Rule({ verdict: { ruleId, policyVersion, why } }: { verdict: Verdict }): ReactNode {
  return (
    <>
      <Marked text={ruleId} />
      <span className="muted"> of policy </span>
      <code title={policyVersion}>{policyVersion.slice(0, 15)}…</code>
      {why.length > 0 && (
        <span className="muted">
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
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
