import type { ReactNode, RefObject } from 'react';
import type { DecisionType } from '@countersign/contracts';
import type { Remarks } from '../client/approvals.js';

/** The reason and the instruction of a decision. */
export function RemarkFields(props: {
  remarks: Remarks;
  onChange: (remarks: Remarks) => void;
  required: readonly DecisionType[];
  /** They were written before what will run has changed. */
  isOlder: boolean;
  reasonRef: RefObject<HTMLInputElement | null>;
}): ReactNode {
  const { remarks, onChange, required, isOlder, reasonRef } = props;
  const hint = required.length === 0 ? 'optional' : `needed to ${required.join(' or ')}`;
  const fields = [
    { name: 'reason', label: 'Reason', hint: `(${hint})`, ref: reasonRef },
    { name: 'instruction', label: 'Instruction', hint: 'to the agent (optional)', ref: undefined },
  ] as const;
  return (
    <div className="cs-remarks">
      {fields.map((field) => (
        <label key={field.name} className="cs-field">
          <span className="cs-label">
            {field.label} <span className="cs-muted">{field.hint}</span>
            {isOlder && remarks[field.name] !== '' && <span className="cs-older"> written before the change</span>}
          </span>
          <input
            ref={field.ref}
            value={remarks[field.name]}
            maxLength={8192}
            onChange={(event) => onChange({ ...remarks, [field.name]: event.target.value })}
            onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
          />
        </label>
      ))}
    </div>
  );
}
