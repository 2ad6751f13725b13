import type { ReactNode } from 'react';
import { Marked, useLoaded } from '@countersign/react/parts';
import { listPolicyVersions } from '../api/policy.js';
import { LocalTime } from '../ui/local-time.js';
import { ScrollTable } from '../ui/table.js';

/** Every activation of a policy, the latest first: which rules judged a call at a time. */
export function Versions(): ReactNode {
  const { value } = useLoaded('versions', listPolicyVersions);
  if (value === undefined || value.versions.length === 0) return null;
  return (
    <section aria-labelledby="policy-versions" className="stack">
      <h2 id="policy-versions">Versions</h2>
      <ScrollTable label="Versions" columns={['In force from', 'Version', 'Activated by']} isPanel>
        {value.versions.map(({ policyVersion, activatedAt, activatedBy }) => (
          <tr key={`${activatedAt} ${policyVersion}`}>
            <th scope="row">
              <LocalTime time={activatedAt} />
            </th>
            <td className="cs-mono">
              <Marked text={policyVersion} />
            </td>
            <td>
              <Marked text={activatedBy} />
            </td>
          </tr>
        ))}
      </ScrollTable>
      {value.more && <p className="cs-hint">Earlier ones are in the log: the events of type PolicyActivated.</p>}
    </section>
  );
}
