import type { ReactNode } from 'react';
import type { Problem } from '@countersign/react/parts';

/** A page that is loading or, with a problem, that failed to load. */
export function WaitingPage({ problem, missing }: { problem: Problem | undefined; missing: string }): ReactNode {
  return (
    <main className="page" aria-busy={problem === undefined}>
      {problem !== undefined && <p className="cs-notice">{problem.status === 404 ? missing : problem.detail}</p>}
    </main>
  );
}
