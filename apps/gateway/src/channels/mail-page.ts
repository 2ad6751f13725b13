import { inboxPolicy } from '../inbox/inbox-files.js';

/** The page behind a link is ours alone: no other site frames it, reads it, or learns where one came from. */
export const mailPageHeaders = {
  'content-security-policy': inboxPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const;

/** The same for everybody: it says nothing about the token, and asks with the visitor's own session. */
export const mailPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Countersign</title>
<script type="module" src="/a/page.js"></script>
<main>
  <h1>Approval</h1>
  <p id="message" role="status">Loading</p>
  <form id="sign-in" hidden>
    <p><label>Token <input name="token" type="password" autocomplete="current-password" required></label></p>
    <p><button>Sign in</button></p>
  </form>
  <section id="card" hidden>
    <h2 id="tool"></h2>
    <p id="facts"></p>
    <h3>Arguments</h3>
    <pre id="arguments"></pre>
    <h3>The agent's own words (untrusted: judge by the arguments above)</h3>
    <pre id="words"></pre>
    <form id="answer">
      <p><label>Reason <input name="reason" maxlength="8192"></label></p>
      <p><button name="decision" value="approve">Approve</button> <button name="decision" value="deny">Deny</button></p>
    </form>
  </section>
  <noscript>This page needs its script. Sign in to the inbox instead.</noscript>
</main>
</html>
`;

/** Everything is put in as text; what a reader would not see is written as its code point. */
export const mailScript = `const at = (id) => document.getElementById(id);
const base = location.pathname.replace(/\\/+$/, '');
const say = (text) => { at('message').textContent = text; };
const hidden = /[\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}⟦]/gu;
const visible = (text) => text.replace(hidden, (one) => one === '\\n' ? one
  : '⟦U+' + one.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '⟧');
const headers = { 'content-type': 'application/json', 'countersign-client': 'inbox' };
const problemOf = async (response) => (await response.json().catch(() => ({}))).detail ?? 'Something went wrong';

async function load() {
  const response = await fetch(base + '/card');
  at('sign-in').hidden = response.status !== 401;
  if (response.status === 401) return say('Sign in to see it.');
  if (!response.ok) return say(await problemOf(response));
  const { approval, isChanged } = await response.json();
  at('tool').textContent = 'May ' + visible(approval.toolName) + ' run?';
  at('facts').textContent = visible('Agent ' + approval.agentId + ' in run ' + approval.runId + ', ' + approval.actionDigest.slice(0, 23));
  at('arguments').textContent = visible(JSON.stringify(approval.arguments, null, 2));
  at('words').textContent = visible([approval.reason, approval.description].filter(Boolean).join('\\n'));
  const isOpen = approval.state === 'pending' && !isChanged;
  at('answer').hidden = !isOpen;
  at('card').hidden = false;
  say(isOpen ? 'It is waiting for your answer.' : isChanged ? 'It was changed since this mail: look at the inbox.' : 'It is ' + approval.state + '.');
}

at('sign-in').addEventListener('submit', async (event) => {
  event.preventDefault();
  const token = new FormData(event.target).get('token');
  const response = await fetch('/session', { method: 'POST', headers, body: JSON.stringify({ token }) });
  if (!response.ok) return say(await problemOf(response));
  await load();
});

// A script that clicks and submits by itself presses nothing: its clicks are not trusted, what follows from them is.
let pressed;
at('answer').addEventListener('click', (event) => {
  pressed = event.isTrusted ? event.target.closest('button')?.value : undefined;
}, true);

at('answer').addEventListener('submit', async (event) => {
  event.preventDefault();
  const type = pressed;
  pressed = undefined;
  if (type !== 'approve' && type !== 'deny') return;
  const reason = new FormData(event.target).get('reason');
  const body = JSON.stringify({ decision: { type }, ...(reason ? { reason } : {}) });
  const response = await fetch(base + '/response', { method: 'POST', headers, body });
  if (!response.ok) say(await problemOf(response));
  else await load();
});

await load();
`;
