import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { applyTheme } from './shell/theme.js';
import '@countersign/react/styles.css';
import './style/base.css';
import './style/shell.css';
import './style/pending.css';
import './style/pages.css';
import './style/audit.css';
import './style/cards.css';

applyTheme();
// Attack: after Back the browser shows the page as it was, with what it revealed, also when the session has ended since.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload();
});
const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
