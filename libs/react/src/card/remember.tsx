import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView, Remember } from '@countersign/contracts';
import { rememberWords, spans } from '../text/grant-words.js';

const first: Remember = { match: 'exact', scope: 'run', expiresInMs: spans[0][1] };

/** A grant answers only where one person decides. */
export function canRemember({ requirement: { stages }, allowedDecisions }: ApprovalView): boolean {
  const [stage] = stages;
  const isOne = stages.length === 1 && (stage?.mode === 'quorum' ? stage.approve === 1 : stage?.groups?.length === 1);
  return isOne && allowedDecisions.includes('approve');
}

/** Turns the approval into a standing grant, with words that say exactly what "always" means. */
export function RememberFields(props: {
  approval: ApprovalView;
  remember: Remember | undefined;
  onChange: (remember: Remember | undefined) => void;
}): ReactNode {
  const { approval, remember, onChange } = props;
  return (
    <fieldset className="cs-remember">
      <legend className="cs-visually-hidden">Remember this approval</legend>
      <label className="cs-check">
        <input
          type="checkbox"
          checked={remember !== undefined}
          onChange={(event) => onChange(event.target.checked ? first : undefined)}
        />
        If I approve, allow such calls from now on
      </label>
      {remember !== undefined && (
        <>
          <Choices remember={remember} onChange={onChange} />
          <p className="cs-hint" role="status">
            {rememberWords(remember, approval)}
            {approval.risk === 'high' && ' Because the risk is high, a second person must confirm it first.'}
          </p>
        </>
      )}
    </fieldset>
  );
}

function Choices(props: { remember: Remember; onChange: (remember: Remember) => void }): ReactNode {
  const { remember, onChange } = props;
  return (
    <div className="cs-remember-choices">
      <Select
        label="Calls"
        value={remember.match}
        options={[
          ['exact', 'with exactly these arguments'],
          ['tool', 'of this tool, any arguments'],
        ]}
        onChange={(match) => onChange({ ...remember, match: match === 'tool' ? 'tool' : 'exact' })}
      />
      <Select
        label="Where"
        value={remember.scope}
        options={[
          ['run', 'in this run'],
          ['agent', 'of this agent, every run'],
        ]}
        onChange={(scope) => onChange({ ...remember, scope: scope === 'agent' ? 'agent' : 'run' })}
      />
      <Select
        label="For"
        value={String(remember.expiresInMs)}
        options={spans.map(([words, ms]) => [String(ms), words])}
        onChange={(ms) => onChange({ ...remember, expiresInMs: Number(ms) })}
      />
      <label className="cs-field">
        <span className="cs-label">At most</span>
        <input
          type="number"
          min={1}
          max={10_000}
          placeholder="no limit"
          value={remember.maxUses ?? ''}
          onChange={({ target: { valueAsNumber: uses } }) => {
            const { maxUses: _before, ...rest } = remember;
            onChange(Number.isInteger(uses) && uses > 0 ? { ...rest, maxUses: uses } : rest);
          }}
        />
      </label>
    </div>
  );
}

function Select(props: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, words: string])[];
  onChange: (value: string) => void;
}): ReactNode {
  const { label, value, options, onChange } = props;
  return (
    <label className="cs-field">
      <span className="cs-label">{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A choice for later calls. Made for other arguments, it is not kept. */
export function useRemember(digest: string): readonly [Remember | undefined, (chosen: Remember | undefined) => void] {
  const [chosen, setChosen] = useState<{ readonly digest: string; readonly remember: Remember | undefined }>();
  const remember = chosen?.digest === digest ? chosen.remember : undefined;
  return [remember, (next) => setChosen({ digest, remember: next })];
}
