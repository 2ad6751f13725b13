import { useState } from 'react';
import type { ReactNode } from 'react';
import type { GrantView } from '@countersign/contracts';
import {
  Ago,
  In,
  Marked,
  Name,
  matchWords,
  onPress,
  problemOf,
  problemWords,
  scopeWords,
  useAccount,
  useToast,
} from '@countersign/react/parts';
import { confirmGrant, revokeGrant } from '../api/grants.js';
import { hrefs } from '../routes.js';
import { Link } from '../ui/link.js';

const stateWords: Readonly<Record<GrantView['state'], string>> = {
  active: 'active',
  pending: 'waits for a second person',
  expired: 'expired',
  exhausted: 'used up',
  revoked: 'revoked',
};

/** One grant: what it covers, its use, and the ways to end or confirm it. */
export function GrantRow({ grant, onChanged }: { grant: GrantView; onChanged: () => void }): ReactNode {
  const { toolName, match, state, uses, maxUses, createdBy, reason, expiresAt, lastUsedAt, approvalId } = grant;
  return (
    <tr>
      <th scope="row" className="cs-mono">
        <Marked text={toolName} />
      </th>
      <td className="wrap">
        <Marked text={matchWords(match)} />
      </td>
      <td>
        <Marked text={scopeWords(grant)} />
      </td>
      <td>
        <span className="cs-badge" data-state={state}>
          {stateWords[state]}
        </span>
      </td>
      <td>
        {uses.toLocaleString('en-US')}
        {maxUses !== null && ` of ${maxUses.toLocaleString('en-US')}`}
        {lastUsedAt !== null && (
          <span className="cs-muted">
            {' '}
            · <Ago time={lastUsedAt} />
          </span>
        )}
      </td>
      <td>
        <Name text={createdBy} />: <Marked text={reason} />{' '}
        {approvalId !== null && <Link href={hrefs.approval(approvalId)}>its approval</Link>}
      </td>
      <td>{state === 'active' || state === 'pending' ? <In time={expiresAt} /> : <Ago time={endOf(grant)} />}</td>
      <td>
        <GrantActions grant={grant} onChanged={onChanged} />
      </td>
    </tr>
  );
}

function endOf({ revokedAt, lastUsedAt, state, expiresAt }: GrantView): string {
  return revokedAt ?? (state === 'exhausted' ? (lastUsedAt ?? expiresAt) : expiresAt);
}

function GrantActions({ grant, onChanged }: { grant: GrantView; onChanged: () => void }): ReactNode {
  const { roles, principal } = useAccount();
  const toast = useToast();
  const [isRevoking, setRevoking] = useState(false);
  const act = (change: Promise<GrantView>, text: string): void => {
    change.then(
      () => toast({ tone: 'neutral', text }),
      (error: unknown) => toast({ tone: 'bad', text: problemWords(problemOf(error), Date.now()) }),
    );
    void change.then(onChanged, onChanged);
  };
  const isLive = grant.state === 'active' || grant.state === 'pending';
  if (!isLive || !(roles.includes('approver') || roles.includes('admin'))) return null;
  const mayConfirm = grant.state === 'pending' && grant.createdBy !== principal && roles.includes('approver');
  return (
    <span className="cs-actions">
      {mayConfirm && (
        <button
          className="cs-button cs-approve"
          type="button"
          onClick={onPress(() => act(confirmGrant(grant.grantId), 'The grant is confirmed.'))}
        >
          Confirm
        </button>
      )}
      {/* Two presses, in place: a grant that is gone by mistake stops an agent. */}
      <button
        className="cs-button cs-deny"
        type="button"
        onBlur={() => setRevoking(false)}
        onClick={onPress(() => {
          if (isRevoking) act(revokeGrant(grant.grantId), 'The grant is revoked.');
          setRevoking(!isRevoking);
        })}
      >
        {isRevoking ? 'Press again to revoke' : 'Revoke'}
      </button>
    </span>
  );
}
