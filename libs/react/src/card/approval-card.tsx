import { memo } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView, JsonObject, Verdict } from '@countersign/contracts';
import { ownWordsOf, plainLabelWords, safeJson, schemaNoteWords } from '@countersign/text';
import { useSurroundings } from '../live/surroundings.js';
import { RiskBadge, StateBadge } from '../ui/badges.js';
import { Marked, Name } from '../ui/marked.js';
import { CopyButton } from '../ui/copy-button.js';
import { LinkTo } from '../ui/link-to.js';
import { Ago, Countdown } from '../ui/time.js';
import { Arguments } from './arguments.js';
import { ArgumentsChange } from './arguments-change.js';
import { Fact, Facts } from './facts.js';
import { HiddenValues } from './hidden-values.js';
import { People } from './people.js';
import { Part } from './seen.js';
import { Siblings } from './siblings.js';
import { Told } from './told.js';

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
  const isToRun = approval.state === 'pending' && approval.proposal.kind === 'run';
  return (
    <article className="cs-card" aria-labelledby="card-title">
      <header className="cs-card-head">
        <h2 id="card-title" className="cs-card-title" tabIndex={-1}>
          <Marked text={approval.toolName} />
          <Part />
        </h2>
        <div className="cs-card-badges">
          <RiskBadge risk={approval.risk} />
          <StateBadge state={approval.state} />
          {approval.state === 'pending' && <Countdown approval={approval} />}
        </div>
      </header>
      <CardLine approval={approval} verdict={verdict} />
      <div className="cs-card-part">
        <section aria-labelledby="card-arguments">
          <div className="cs-section-head">
            <h3 id="card-arguments">{isToRun ? 'What will run' : 'What was asked'}</h3>
            <CopyButton label="Copy the arguments as JSON" text={() => safeJson(approval.arguments, 2)} />
          </div>
          {Object.keys(approval.labels).length > 0 && (
            // Before the arguments, because they may be relative to one of them, such as the working folder.
            <dl className="cs-facts">
              <Fact name="Labels">
                <Marked text={plainLabelWords(approval.labels)} />
              </Fact>
            </dl>
          )}
          <Arguments value={approval.arguments} hiddenValues={approval.hiddenValues} />
          <HiddenValues key={approval.proposal.digest} approval={approval} />
          <p className="cs-notice">{schemaNoteWords(approval.schemaNotes)}</p>
          <Part />
        </section>
        <Told approval={approval} />
        {original !== undefined && (
          <section aria-labelledby="card-change">
            <h3 id="card-change">What an approver changed</h3>
            <ArgumentsChange before={original} after={approval.arguments} />
            <Part />
          </section>
        )}
        <Siblings approval={approval} />
      </div>
      <div className="cs-card-part">
        <People approval={approval} />
        <Facts approval={approval} verdict={verdict} />
      </div>
      <OwnWords approval={approval} />
    </article>
  );
});

/** Who asks, where and why, on one line. */
function CardLine({ approval, verdict }: Pick<ApprovalCardProps, 'approval' | 'verdict'>): ReactNode {
  const { agentId, owner, runId, requestedAt } = approval;
  const { hrefs } = useSurroundings();
  return (
    <p className="cs-card-line">
      <strong>
        <Name text={agentId} />
      </strong>
      {owner !== null && (
        <>
          {' '}
          (owner <Name text={owner} />)
        </>
      )}
      {' · '}
      <LinkTo href={hrefs?.run?.(runId)}>
        <Name text={runId} />
      </LinkTo>
      {' · asked '}
      <Ago time={requestedAt} />
      {' · rule '}
      {verdict === undefined ? '…' : <Name text={verdict.ruleId} />}
    </p>
  );
}

/** Last, in a separate and labelled place: the requester wrote it. */
function OwnWords({ approval }: { approval: ApprovalView }): ReactNode {
  const given = ownWordsOf(approval);
  if (given.length === 0) return null;
  return (
    <section className="cs-own-words" aria-labelledby="card-own-words">
      <h3 id="card-own-words">The agent’s own words, not checked</h3>
      {given.map(([label, text]) => (
        <div key={label}>
          <p className="cs-label">{label}</p>
          <blockquote>
            <Marked text={text} keepsLines />
          </blockquote>
        </div>
      ))}
    </section>
  );
}
