import { agentWordsLabel } from '@countersign/channels';
import { inboxPolicy } from '../inbox/inbox-files.js';

/** The page behind a link: no other site may frame it, read it, or learn the address of the previous page. */
export const mailPageHeaders = {
  'content-security-policy': inboxPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const;

/** The same page for every visitor. It reveals nothing about the token, and reads with the visitor's own session. */
export const mailPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Countersign</title>
<link rel="stylesheet" href="/a/page.css">
<script type="module" src="/a/page.js"></script>
<main>
  <h1>Approval</h1>
  <p id="message" role="status">Loading</p>
  <form id="sign-in" hidden>
    <p id="organisation" hidden><a>Sign in with your organisation</a></p>
    <p><label>Token <input name="token" type="password" autocomplete="current-password" required></label></p>
    <p><button>Sign in</button></p>
  </form>
  <section id="card" hidden>
    <h2 id="headline"></h2>
    <p id="status" class="lines"></p>
    <h3>Arguments</h3>
    <pre id="arguments"></pre>
    <p id="change-headline" class="lines"></p>
    <pre id="change"></pre>
    <p id="warnings" class="lines"></p>
    <p id="facts" class="lines"></p>
    <section>
      <h3>${agentWordsLabel}</h3>
      <pre id="words"></pre>
    </section>
    <form id="answer">
      <p><label><span id="reason-label">Reason</span> <input name="reason" maxlength="8192"></label></p>
      <p><button type="button" value="approve">Approve</button> <button type="button" value="deny">Deny</button></p>
      <p id="confirm" role="alert" hidden>High risk. Hold the button for a second, or confirm: <button type="button" value="approve" data-confirms></button></p>
    </form>
    <p><a id="inbox">Open it in the inbox</a>, where arguments can be edited too.</p>
  </section>
  <noscript>This page needs its script. Sign in to the inbox instead.</noscript>
</main>
</html>
`;

/** Plain, and readable in light and in dark; a phone shows it as it is. */
export const mailStyle = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; }
main { max-width: 46rem; margin: 0 auto; padding: 1rem 1rem 3rem; }
/* Each blank is seen, also where a row breaks: it has a place of its own, as wide as that of a letter, and rows break anywhere. */
h2, .lines { font-family: ui-monospace, monospace; }
h2, .lines, pre { overflow-wrap: anywhere; white-space: break-spaces; line-break: anywhere; }
h3 { margin: 1.5rem 0 0.25rem; font-size: 0.9rem; }
#warnings { font-weight: 600; }
pre { margin: 0; padding: 0.75rem; border: 1px solid GrayText; border-radius: 6px; }
label { display: grid; gap: 0.25rem; }
input, button { min-height: 2.75rem; padding: 0 0.75rem; font: inherit; }
button { min-width: 7rem; margin-right: 0.5rem; touch-action: manipulation; user-select: none; }
`;

/** Everything is put in as the text that the mail has: every character of it is seen. */
export const mailScript = `const at = (id) => document.getElementById(id);
const base = location.pathname.replace(/\\/+$/, '');
const say = (text) => { at('message').textContent = text; };
const write = (id, lines) => { at(id).textContent = lines.join('\\n'); };
const labelled = (pairs) => pairs.map(([label, text]) => label + ': ' + text);
const headers = { 'content-type': 'application/json', 'countersign-client': 'inbox' };
const problemOf = async (response) => (await response.json().catch(() => ({}))).detail ?? 'Something went wrong';

async function load() {
  const response = await fetch(base + '/card');
  at('sign-in').hidden = response.status !== 401;
  if (response.status === 401) return offerSignIn();
  if (!response.ok) return say(await problemOf(response));
  shown = await response.json();
  const { approval, card, presses, reasonFor, confirms, words } = shown;
  write('headline', [card.headline]);
  write('status', card.status);
  write('arguments', card.argumentLines);
  write('change-headline', card.change ? [card.change.headline + ':'] : []);
  write('change', card.change?.lines ?? []);
  at('change').hidden = !card.change;
  write('warnings', card.warnings);
  write('facts', labelled(card.facts));
  write('words', card.agentWords.map(([label, text]) => label + ':\\n' + text));
  at('words').parentElement.hidden = card.agentWords.length === 0;
  at('inbox').href = '/approvals/' + encodeURIComponent(approval.approvalId);
  at('answer').hidden = presses.length === 0;
  for (const button of buttons()) button.hidden = !presses.includes(button.value);
  confirmation().textContent = confirms;
  for (const button of buttons().filter(isHeld)) button.setAttribute('aria-description', 'Hold it for a second');
  at('confirm').hidden = true;
  at('reason-label').textContent = reasonFor.length === 0 ? 'Reason' : 'Reason (needed to ' + reasonFor.join(' or ') + ')';
  offer();
  at('card').hidden = false;
  say(words);
}

let shown;
const buttons = () => [...at('answer').querySelectorAll('button')];
const confirmation = () => at('confirm').querySelector('button');
const reasonOf = () => new FormData(at('answer')).get('reason').trim();

// A button that the server would refuse is off.
function offer() {
  for (const button of buttons()) button.disabled = shown.reasonFor.includes(button.value) && reasonOf() === '';
}
at('answer').addEventListener('input', offer);

async function offerSignIn() {
  say('Sign in to see it.');
  const { isOidcOffered } = await (await fetch('/session')).json();
  at('organisation').hidden = !isOidcOffered;
  at('organisation').firstChild.href = '/session/oidc?returnTo=' + encodeURIComponent(base);
}

at('sign-in').addEventListener('submit', async (event) => {
  event.preventDefault();
  const token = new FormData(event.target).get('token');
  const response = await fetch('/session', { method: 'POST', headers, body: JSON.stringify({ token }) });
  if (!response.ok) return say(await problemOf(response));
  await load();
});

// Attack: Enter in the field of the reason presses the first button of a form. So no button sends the form.
at('answer').addEventListener('submit', (event) => event.preventDefault());

// Attack: a script presses a button. Its clicks are not trusted. The second click of a double click decides nothing.
at('answer').addEventListener('click', async (event) => {
  const button = event.isTrusted && event.detail <= 1 ? event.target.closest('button') : null;
  if (button === null || isSending) return;
  if (isHeld(button)) return ask();
  await answer(button.value);
});

// What is hard to undo is held for a moment. A short press, a key or a screen reader is asked instead.
const isHeld = (button) => button.value === 'approve' && shown.isHighRisk && !('confirms' in button.dataset);
let holding;
at('answer').addEventListener('pointerdown', (event) => {
  const button = event.target.closest('button');
  if (event.isTrusted && event.button === 0 && button !== null && !button.disabled && isHeld(button)) {
    clearTimeout(holding);
    holding = setTimeout(() => answer('approve'), 1200);
  }
});
// A long press on a phone opens a menu.
at('answer').addEventListener('contextmenu', (event) => event.target.closest('button') && event.preventDefault());
for (const name of ['pointerup', 'pointerout', 'pointercancel']) at('answer').addEventListener(name, () => clearTimeout(holding));

// The question stands below the buttons: where it shows up, no second tap of a finger falls.
let asked;
function ask() {
  at('confirm').hidden = false;
  clearTimeout(asked);
  asked = setTimeout(() => { at('confirm').hidden = true; }, 20000);
}

let isSending = false;
async function answer(type) {
  if (isSending) return;
  isSending = true;
  await send(type).finally(() => { isSending = false; });
}

async function send(type) {
  const reason = reasonOf();
  // A denial is one of what this page shows, whatever others tell the agent meanwhile.
  const of = type === 'deny' ? { proposalDigest: shown.approval.proposal.digest } : {};
  const body = JSON.stringify({ decision: { type }, ...of, ...(reason ? { reason } : {}) });
  const response = await fetch(base + '/response', { method: 'POST', headers, body });
  if (!response.ok) say(await problemOf(response));
  else await load();
}

await load();
`;
