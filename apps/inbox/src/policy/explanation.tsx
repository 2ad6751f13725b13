import type { ReactNode } from 'react';
import type { ExplanationView, Verdict } from '@countersign/contracts';
import { recordedRequirementWords } from '@countersign/text';
import { Marked, Name } from '@countersign/react/parts';
import { ScrollTable } from '../ui/table.js';

const outcomeWords: Readonly<Record<Verdict['outcome'], string>> = {
  allow: 'It may run without an approval.',
  require: 'People are asked.',
  block: 'It is blocked.',
};

/** The verdict on a call, and what each rule says of it. */
export function Explanation({ explanation }: { explanation: ExplanationView }): ReactNode {
  const { verdict, requirement, rules, quotas, countedFor } = explanation;
  const decisive = rules.findIndex(({ ruleId, matched }) => matched && ruleId === verdict.ruleId);
  return (
    <>
      <p role="status">
        <strong>{outcomeWords[verdict.outcome]}</strong> Rule <Name text={verdict.ruleId} />
        {requirement !== null && `: ${recordedRequirementWords(requirement).join('; ')}`}
        {verdict.why.length > 0 && (
          <span className="cs-muted">
            {' '}
            · <Marked text={verdict.why.join('; ')} />
          </span>
        )}
      </p>
      {quotas?.map(
        ({ quota, counts, refusal }) =>
          refusal && (
            <p key={quota + counts}>
              <strong>Refused now:</strong> <Marked text={refusal.detail} />
            </p>
          ),
      )}
      {countedFor?.isAssumed && (
        <p className="cs-muted">
          Quotas are counted for a principal <Name text={countedFor.requestedBy} />.
        </p>
      )}
      {rules.length > 0 && (
        <ScrollTable label="What each rule says" columns={['Rule', 'Matches', 'Why']}>
          {rules.map(({ ruleId, matched, failed, why }, index) => (
            <tr key={ruleId} data-decisive={index === decisive}>
              <th scope="row">
                <Marked text={ruleId} />
              </th>
              <td>{matchedWords({ matched, failed }, index === decisive, decisive !== -1 && index > decisive)}</td>
              <td>
                <Marked text={why} />
              </td>
            </tr>
          ))}
        </ScrollTable>
      )}
    </>
  );
}

function matchedWords(
  { matched, failed }: { readonly matched: boolean; readonly failed: boolean },
  isDecisive: boolean,
  isLater: boolean,
): string {
  const words = matched ? 'yes' : 'no';
  if (failed) return `${words}: its expression has no answer`;
  if (isDecisive) return 'yes: it decides';
  return matched && isLater ? 'yes, but an earlier rule decides' : words;
}
