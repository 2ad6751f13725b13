import { memo } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView, JsonObject, Verdict } from '@countersign/contracts';
import { labelWords, ordinal, requirementWords } from '@countersign/text';
import { useNow } from '../live/use-now.js';
import { hrefs } from '../routes.js';
import { responseWords } from '../text/words.js';
import { RiskBadge, StateBadge } from '../ui/badges.js';
import { Link } from '../ui/link.js';
import { Marked } from '../ui/marked.js';
import { Ago, Countdown } from '../ui/time.js';
import { Arguments } from './arguments.js';
import { ArgumentsChange } from './arguments-change.js';
import { Deliveries } from './deliveries.js';
import { HiddenValues } from './hidden-values.js';

/** The content of a card. */
export interface ApprovalCardProps {
  readonly approval: ApprovalView;
  /** The policy's verdict; undefined until it is loaded. */
  readonly verdict: Verdict | undefined;
  /** The requested arguments, if an approver has edited them. */
  readonly original: JsonObject | undefined;
}

/**
 * One approval as an approver reads it. The recorded facts come first. The agent's description comes last, with a
 * label, because it can be false.
 */
export const ApprovalCard = memo(function ApprovalCard(props: ApprovalCardProps): ReactNode {
  const { approval, verdict, original } = props;
  return (
    <article className="card" aria-labelledby="card-title">
      <header className="card-head">
        <h2 id="card-title" className="card-title">
          <Marked text={approval.toolName} />
        </h2>
        <div className="card-badges">
          <RiskBadge risk={approval.risk} />
          <StateBadge state={approval.state} />
          {approval.state === 'pending' && <Countdown expiresAt={approval.expiresAt} />}
        </div>
      </header>
      <section aria-labelledby="card-arguments">
        <h3 id="card-arguments">What will run</h3>
        <Arguments value={approval.arguments} hiddenValues={approval.hiddenValues} />
        <HiddenValues key={approval.actionDigest} approval={approval} />
      </section>
      {original !== undefined && (
        <section aria-labelledby="card-change">
          <h3 id="card-change">What an approver changed</h3>
          <ArgumentsChange before={original} after={approval.arguments} />
        </section>
      )}
      <Facts approval={approval} verdict={verdict} />
      <OwnWords approval={approval} />
    </article>
  );
});

function Facts({ approval, verdict }: { approval: ApprovalView; verdict: Verdict | undefined }): ReactNode {
  const nowMs = useNow();
  const { agentId, requestedBy, labels, runId, callId, requestedAt, round, requirement, responses } = approval;
  return (
    <section aria-labelledby="card-facts">
      <h3 id="card-facts">Who asks, and why you</h3>
      <dl className="facts">
        <Fact name="Agent">
          <Marked text={agentId} />
        </Fact>
        <Fact name="Asked by">
          <Marked text={requestedBy} />
        </Fact>
        {Object.keys(labels).length > 0 && (
          <Fact name="Labels">
            <Marked text={labelWords(labels, (text) => text)} />
          </Fact>
        )}
        <Fact name="Run">
          <Link href={hrefs.run(runId)}>
            <Marked text={runId} />
          </Link>
        </Fact>
        <Fact name="Asked">
          <Ago time={requestedAt} />
          {round > 1 && `, for the ${ordinal(round)} time`}
        </Fact>
        <Fact name="Rule">
          {verdict === undefined ? (
            <span className="muted">…</span>
          ) : (
            <>
              <Marked text={verdict.ruleId} />
              <span className="muted"> of policy </span>
              <code title={verdict.policyVersion}>{verdict.policyVersion.slice(0, 15)}…</code>
              {verdict.why.length > 0 && (
                <span className="muted">
                  {' '}
                  · <Marked text={verdict.why.join('; ')} />
                </span>
              )}
            </>
          )}
        </Fact>
        <Fact name="Needs">{requirementWords(requirement)}</Fact>
        {responses.map((response) => (
          <Fact key={`${response.respondedBy} ${response.respondedAt}`} name="Answer">
            {responseWords(response, nowMs)}
            {response.reason !== null && (
              <>
                : <Marked text={response.reason} />
              </>
            )}
          </Fact>
        ))}
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

function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Last, in a separate and labelled place: the requester wrote it. */
function OwnWords({ approval: { description, reason } }: { approval: ApprovalView }): ReactNode {
  const texts = [
    ['It describes the call as', description],
    ['It asks because', reason],
  ] as const;
  const given = texts.filter(([, text]) => text !== null && text !== '');
  if (given.length === 0) return null;
  return (
    <section className="own-words" aria-labelledby="card-own-words">
      <h3 id="card-own-words">The agent’s own words — checked by nobody</h3>
      {given.map(([label, text]) => (
        <div key={label}>
          <p className="label">{label}</p>
          <blockquote>
            <Marked text={text ?? ''} keepsLines />
          </blockquote>
        </div>
      ))}
    </section>
  );
}
