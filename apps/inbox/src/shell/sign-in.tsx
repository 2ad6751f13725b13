import { useState } from 'react';
import type { ReactNode } from 'react';
import { problemOf } from '@countersign/react/parts';
import type { Account } from '@countersign/react/parts';
import { signIn } from '../api/countersign.js';
import { Icon } from './icons.js';

/** The sign-in page: with a token, or through the OIDC provider. */
export function SignIn(props: {
  isOidcOffered: boolean;
  isOver: boolean;
  onSignedIn: (account: Account) => void;
}): ReactNode {
  const [problem, setProblem] = useState(props.isOver ? 'Your session is over. Sign in again.' : '');
  const [isBusy, setBusy] = useState(false);
  const submit = async (form: FormData): Promise<void> => {
    setBusy(true);
    setProblem('');
    try {
      const token = form.get('token');
      const { actor } = await signIn(typeof token === 'string' ? token.trim() : '');
      props.onSignedIn(actor);
    } catch (error) {
      const { code } = problemOf(error);
      setProblem(code === 'unreachable' ? 'Countersign does not answer. Try again.' : 'This token is not valid.');
      setBusy(false);
    }
  };
  return (
    <main className="sign-in">
      <div className="sign-in-box">
        <h1 className="brand large">
          <span className="brand-mark">
            <Icon name="logo" />
          </span>
          Countersign
        </h1>
        <p className="cs-muted">See what your agents are about to do.</p>
        {props.isOidcOffered && (
          <>
            <a
              className="cs-button cs-primary cs-wide"
              href={`/session/oidc?returnTo=${encodeURIComponent(location.pathname)}`}
            >
              Sign in with your organisation
            </a>
            <p className="divider">or with a token</p>
          </>
        )}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void submit(new FormData(event.currentTarget));
          }}
        >
          {/* For password managers, which file a secret under a name. */}
          <input
            className="cs-visually-hidden"
            type="text"
            name="username"
            autoComplete="username"
            tabIndex={-1}
            aria-hidden="true"
            readOnly
            value="countersign"
          />
          <label className="cs-field">
            <span className="cs-label">Token</span>
            <input
              name="token"
              type="password"
              autoComplete="current-password"
              spellCheck={false}
              required
              autoFocus
              aria-describedby="sign-in-problem"
            />
          </label>
          <p id="sign-in-problem" className="cs-problem-line" role="alert">
            {problem}
          </p>
          <button
            className={`cs-button cs-wide ${props.isOidcOffered ? '' : 'cs-primary'}`}
            type="submit"
            disabled={isBusy}
          >
            Sign in
          </button>
        </form>
        <p className="cs-hint">
          Your token is in <code>tokens.json</code> of the data folder; <code>npm start</code> prints the one of “me”.
          It is exchanged for a session and not kept in this browser.
        </p>
      </div>
    </main>
  );
}
