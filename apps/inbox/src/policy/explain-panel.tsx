import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { ExplanationView, JsonObject } from '@countersign/contracts';
import { isObject, problemOf, problemWords, readCall } from '@countersign/react/parts';
import { client } from '../api/client.js';
import { explain } from '../api/policy.js';
import type { AskedCall } from '../api/policy.js';
import { Explanation } from './explanation.js';

interface Form {
  readonly toolName: string;
  readonly agentId: string;
  readonly args: string;
  readonly needsApproval: boolean;
}

const emptyForm: Form = { toolName: '', agentId: '', args: '{}', needsApproval: false };

/** Explains the verdict on a call: a recorded one, or one that is made up here. Nothing is recorded. */
export function ExplainPanel({ callId }: { callId: string | undefined }): ReactNode {
  const [form, setForm] = useState(emptyForm);
  const [explanation, setExplanation] = useState<ExplanationView>();
  const [problem, setProblem] = useState('');
  const ask = async (asked: Form, more: Partial<Pick<AskedCall, 'runId' | 'labels' | 'requestedBy'>> = {}) => {
    setProblem('');
    try {
      const { toolName, agentId, needsApproval } = asked;
      const given = { ...(agentId !== '' && { agentId }), ...(needsApproval && { needsApproval }), ...more };
      setExplanation(await explain({ toolName, arguments: argumentsOf(asked.args), ...given }));
    } catch (error) {
      setExplanation(undefined);
      setProblem(error instanceof SyntaxError ? error.message : problemWords(problemOf(error), Date.now()));
    }
  };
  useEffect(() => {
    if (callId === undefined) return;
    readCall(client, callId).then(
      ({ toolName, agentId, runId, arguments: args, approval }) => {
        const asked = { ...emptyForm, toolName, agentId, args: JSON.stringify(args, null, 2) };
        setForm(asked);
        const of = approval === null ? {} : { labels: approval.labels, requestedBy: approval.requestedBy };
        void ask(asked, { runId, ...of });
      },
      (error: unknown) => setProblem(problemWords(problemOf(error), Date.now())),
    );
  }, [callId]);
  return (
    <section className="panel" aria-labelledby="policy-explain">
      <h2 id="policy-explain">Explain a call</h2>
      <p className="cs-muted">
        What each rule says of a call, by the policy that is in force now. Nothing is recorded.
        {callId !== undefined && ' Hidden values are masks here, so a rule that looks at one may answer otherwise.'}
      </p>
      <ExplainForm form={form} onChange={setForm} onAsk={() => void ask(form)} />
      <p className="cs-problem-line" role="alert">
        {problem}
      </p>
      {explanation !== undefined && <Explanation explanation={explanation} />}
    </section>
  );
}

function argumentsOf(text: string): JsonObject {
  const value = JSON.parse(text === '' ? '{}' : text) as JsonObject;
  if (!isObject(value)) throw new SyntaxError('The arguments must be a JSON object.');
  return value;
}

function ExplainForm(props: { form: Form; onChange: (form: Form) => void; onAsk: () => void }): ReactNode {
  const { form, onChange, onAsk } = props;
  return (
    <form
      className="explain-form"
      onSubmit={(event) => {
        event.preventDefault();
        onAsk();
      }}
    >
      <label className="cs-field">
        <span className="cs-label">Tool</span>
        <input
          value={form.toolName}
          required
          maxLength={256}
          onChange={(event) => onChange({ ...form, toolName: event.target.value })}
        />
      </label>
      <label className="cs-field">
        <span className="cs-label">
          Agent <span className="cs-muted">(optional)</span>
        </span>
        <input
          value={form.agentId}
          maxLength={256}
          onChange={(event) => onChange({ ...form, agentId: event.target.value })}
        />
      </label>
      <label className="cs-field wide-field">
        <span className="cs-label">Arguments as JSON</span>
        <textarea
          className="cs-mono"
          rows={4}
          spellCheck={false}
          value={form.args}
          onChange={(event) => onChange({ ...form, args: event.target.value })}
        />
      </label>
      <label className="cs-check">
        <input
          type="checkbox"
          checked={form.needsApproval}
          onChange={(event) => onChange({ ...form, needsApproval: event.target.checked })}
        />
        The worker asks for approval
      </label>
      <button className="cs-button cs-primary" type="submit">
        Explain
      </button>
    </form>
  );
}
