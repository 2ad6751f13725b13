import type { ReactNode } from 'react';
import type { ToolCallView } from '@countersign/contracts';
import { Marked } from './marked.js';

/** The outcome of a call: its output or error, and the approver's instruction. */
export function Outcome({ call: { output, error, instruction } }: { call: ToolCallView }): ReactNode {
  const parts = [
    ['Result', output],
    ['Error', error],
    ['The approver’s instruction to the agent', instruction],
  ] as const;
  return parts.map(([label, value]) =>
    value === null ? null : (
      <div key={label}>
        <h3>
          {label}
          {label === 'Result' && typeof value === 'string' && <span className="cs-muted"> (text)</span>}
        </h3>
        <pre className="cs-outcome" tabIndex={0} aria-label={label}>
          <Marked text={typeof value === 'string' ? value : JSON.stringify(value, null, 2)} keepsLines />
        </pre>
      </div>
    ),
  );
}
