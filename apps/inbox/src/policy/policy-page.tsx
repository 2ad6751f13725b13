import type { ReactNode } from 'react';
import type { PolicyView } from '@countersign/contracts';
import { defaultWords, matchWords, passkeyWords, quotaWords, requireWords, thenWords } from '@countersign/text';
import type { WrittenRule } from '@countersign/text';
import { Ago, Marked, Name, countWords, useLoaded } from '@countersign/react/parts';
import { readPolicy } from '../api/policy.js';
import { ScrollTable } from '../ui/table.js';
import { WaitingPage } from '../ui/waiting-page.js';
import { Delegations } from './delegations.js';
import { ExplainPanel } from './explain-panel.js';
import { Versions } from './versions.js';
import { policyOf } from './policy-content.js';
import type { WrittenPolicy } from './policy-content.js';

/** The policy in force: its version, its rules in words, the people it names, and an explanation for any call. */
export default function PolicyPage({ callId }: { callId: string | undefined }): ReactNode {
  const { value: policy, problem } = useLoaded('policy', readPolicy);
  if (policy === undefined) return <WaitingPage problem={problem} missing="There is no policy." />;
  const written = policyOf(policy.content);
  return (
    <main className="page flow">
      <header className="page-head">
        <h1>Policy</h1>
        <Version policy={policy} />
      </header>
      <Rules written={written} />
      <ExplainPanel callId={callId} />
      <Delegations written={written} />
      <Versions />
      <section className="panel" aria-label="The file">
        <details open>
          <summary>The file as it is in force</summary>
          <pre className="cs-outcome" tabIndex={0} aria-label="The policy file as JSON">
            <Marked text={JSON.stringify(policy.content, null, 2)} keepsLines />
          </pre>
        </details>
      </section>
    </main>
  );
}

function Version({ policy: { policyVersion, activatedAt, activatedBy } }: { policy: PolicyView }): ReactNode {
  return (
    <span className="cs-muted">
      version <code title={policyVersion}>{policyVersion.slice(0, 19)}…</code>
      {activatedAt === null ? (
        ', built in: no file is configured'
      ) : (
        <>
          , activated <Ago time={activatedAt} />
        </>
      )}
      {activatedBy !== null && (
        <>
          {' '}
          by <Name text={activatedBy} />
        </>
      )}
    </span>
  );
}

function Rules({ written }: { written: WrittenPolicy }): ReactNode {
  const { rules = [] } = written;
  return (
    <>
      <p className="cs-muted">
        {countWords(rules.length, 'rule')}, from the top; the first one that matches decides. A call keeps the rules
        that were in force when it was asked.
      </p>
      <ScrollTable label="Rules" columns={['Rule', 'Calls', 'When', 'Then']} isPanel>
        {rules.map((rule) => (
          <RuleRow key={rule.id} rule={rule} />
        ))}
        {shortRules(written).map(([name, calls, then]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td className="cs-mono wrap">
              <Lines texts={calls} />
            </td>
            <td />
            <td>
              <Lines texts={then} />
            </td>
          </tr>
        ))}
      </ScrollTable>
    </>
  );
}

function RuleRow({ rule }: { rule: WrittenRule }): ReactNode {
  return (
    <tr>
      <th scope="row">
        <Marked text={rule.id} />
      </th>
      <td className="cs-mono wrap">
        <Marked text={matchWords(rule)} />
      </td>
      <td className="cs-mono wrap">
        <Marked text={rule.when ?? ''} />
      </td>
      <td>
        <Lines texts={outcomeWords(rule)} />
      </td>
    </tr>
  );
}

function outcomeWords(rule: WrittenRule): readonly string[] {
  const isRequire = rule.then !== 'allow' && rule.then.block === undefined;
  return isRequire ? requireWords(rule.then.require ?? {}) : [thenWords(rule)];
}

function Lines({ texts }: { texts: readonly string[] }): ReactNode {
  return texts.map((text) => (
    <div key={text}>
      <Marked text={text} />
    </div>
  ));
}

/** The short forms of rules, in the order in which they are looked at, and what holds for all of them. */
function shortRules(
  written: WrittenPolicy,
): readonly (readonly [name: string, calls: readonly string[], then: readonly string[]])[] {
  const { requireApprovalTools, autoApprovedTools, defaults, quotas, passkeys } = written;
  const otherwise = written.default ?? (autoApprovedTools === undefined ? 'allow' : 'require');
  const last = otherwise === 'allow' ? 'allow, unless the worker asks' : '1 approver';
  return [
    ...(requireApprovalTools === undefined
      ? []
      : [['requireApprovalTools', [requireApprovalTools.join(', ')], ['1 approver']] as const]),
    ...(autoApprovedTools === undefined
      ? []
      : [['autoApprovedTools', autoApprovedTools.map(listedWords), ['allow']] as const]),
    ['default', ['every other call'], [last]],
    ['defaults', ['where a rule says nothing'], defaultWords(defaults)],
    ...(quotas === undefined ? [] : [['quotas', ['every call that needs people'], quotaWords(quotas)] as const]),
    ...(passkeys === undefined ? [] : [['passkeys', ['people who sign'], passkeyWords(passkeys)] as const]),
  ];
}

function listedWords(listed: NonNullable<WrittenPolicy['autoApprovedTools']>[number]): string {
  return typeof listed === 'string' ? listed : matchWords({ match: listed });
}
