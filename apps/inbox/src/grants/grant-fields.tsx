import type { ReactNode } from 'react';
import type { CreateGrantBody } from '@countersign/contracts';
import { spans } from '@countersign/react/parts';

/** The form of a new grant. */
export interface GrantForm {
  readonly toolName: string;
  readonly agentId: string;
  readonly requestedBy: string;
  readonly runId: string;
  /** A CEL expression; empty: any arguments. */
  readonly when: string;
  readonly expiresInMs: number;
  readonly maxUses: string;
  readonly reason: string;
}

export const emptyGrant: GrantForm = {
  ...{ toolName: '', agentId: '', requestedBy: '', runId: '', when: '', maxUses: '', reason: '' },
  expiresInMs: spans[1][1],
};

/** The body that the form stands for. */
export function bodyOf(form: GrantForm): CreateGrantBody {
  const { toolName, agentId, requestedBy, runId, when, expiresInMs, maxUses, reason } = form;
  return {
    toolName: toolName.trim(),
    match: when.trim() === '' ? { any: true } : { when: when.trim() },
    expiresInMs,
    reason: reason.trim(),
    ...(agentId.trim() !== '' && { agentId: agentId.trim() }),
    ...(requestedBy.trim() !== '' && { requestedBy: requestedBy.trim() }),
    ...(runId.trim() !== '' && { runId: runId.trim() }),
    ...(maxUses !== '' && { maxUses: Number(maxUses) }),
  };
}

const texts = [
  { name: 'toolName', label: 'Tool', hint: '', required: true },
  { name: 'agentId', label: 'Agent', hint: '(empty: every agent)', required: false },
  {
    name: 'requestedBy',
    label: 'Principal',
    hint: '(empty: every principal that may speak for the agent)',
    required: false,
  },
  { name: 'runId', label: 'Run', hint: '(empty: every run)', required: false },
  {
    name: 'when',
    label: 'Only when',
    hint: '(CEL over args, such as args.amount <= 50; empty: any arguments)',
    required: false,
  },
  { name: 'reason', label: 'Reason', hint: '', required: true },
] as const;

/** The fields of a new grant. */
export function GrantFields({ form, onChange }: { form: GrantForm; onChange: (form: GrantForm) => void }): ReactNode {
  return (
    <div className="grant-fields">
      {texts.map(({ name, label, hint, required }) => (
        <label key={name} className="cs-field">
          <span className="cs-label">
            {label} <span className="cs-muted">{hint}</span>
          </span>
          <input
            value={form[name]}
            required={required}
            maxLength={4096}
            onChange={(event) => onChange({ ...form, [name]: event.target.value })}
          />
        </label>
      ))}
      <label className="cs-field">
        <span className="cs-label">Holds for</span>
        <select
          value={String(form.expiresInMs)}
          onChange={(event) => onChange({ ...form, expiresInMs: Number(event.target.value) })}
        >
          {spans.map(([words, ms]) => (
            <option key={ms} value={String(ms)}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label className="cs-field">
        <span className="cs-label">
          At most <span className="cs-muted">(uses; empty: 10,000)</span>
        </span>
        <input
          type="number"
          min={1}
          max={10_000}
          value={form.maxUses}
          onChange={(event) => onChange({ ...form, maxUses: event.target.value })}
        />
      </label>
    </div>
  );
}
