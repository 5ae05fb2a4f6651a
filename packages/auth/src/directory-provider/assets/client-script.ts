/**
 * The script of the pages: passkeys, and showing a password. All else works without it, and the parts that need it are
 * hidden until it runs. It is served exactly as written here.
 */
export const CLIENT_SCRIPT = `// Passkeys, and showing a password while typing it.
const API = '/api/auth/';
const ASK_AGAIN_MS = 4 * 60 * 1000; // A challenge lives for five minutes.

let offered; // The request that waits in the e-mail field; only one may wait at a time.

for (const button of document.querySelectorAll('[data-reveal]')) {
  const input = document.getElementById(button.dataset.reveal);
  button.hidden = false;
  button.addEventListener('click', () => {
    const shown = input.type === 'text';
    input.type = shown ? 'password' : 'text';
    button.setAttribute('aria-pressed', String(!shown));
    input.focus();
  });
  // A browser must not remember it as text.
  input.form?.addEventListener('submit', () => { input.type = 'password'; });
}

const hasPasskeys = typeof PublicKeyCredential === 'function'
  && typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function'
  && typeof PublicKeyCredential.parseCreationOptionsFromJSON === 'function';

if (hasPasskeys) {
  for (const part of document.querySelectorAll('[data-passkey]')) {
    part.hidden = false;
    const use = part.dataset.passkey === 'register' ? register : signIn;
    part.querySelector('button').addEventListener('click', () => attempt(part, use));
  }
  const conditional = document.querySelector('[data-conditional]');
  if (conditional) offer(conditional).catch(() => undefined);
}

// Runs the action of a button, and shows its fault beside it.
async function attempt(part, use) {
  const button = part.querySelector('button');
  const fault = part.querySelector('[data-fault]');
  if (button.getAttribute('aria-busy') === 'true') return;
  button.setAttribute('aria-busy', 'true');
  fault.textContent = '';
  offered?.abort();
  try {
    await use(part);
  } catch (error) {
    if (error?.reason === 'confirm_first') {
      location.assign(API + 'confirm?returnTo=%2Fapi%2Fauth%2Fsecurity');
      return;
    }
    fault.textContent = sentenceOf(error, part);
  } finally {
    button.removeAttribute('aria-busy');
  }
}

async function signIn(part, options = {}) {
  const confirm = part.dataset.confirm === undefined ? {} : { confirm: true };
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await ask('passkey/options', confirm));
  const credential = await navigator.credentials.get({ publicKey, ...options });
  const returnTo = part.dataset.returnTo === undefined ? {} : { returnTo: part.dataset.returnTo };
  const { location: next } = await ask('passkey/verify', { credential: credential.toJSON(), ...confirm, ...returnTo });
  location.assign(next);
}

async function register(part) {
  const { linkToken: token, nameFrom } = part.dataset;
  const linkToken = token === undefined ? {} : { linkToken: token };
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(await ask('passkeys/options', linkToken));
  const credential = await navigator.credentials.create({ publicKey });
  const name = document.getElementById(nameFrom)?.value ?? '';
  const { location: next } = await ask('passkeys', { credential: credential.toJSON(), name, ...linkToken });
  location.assign(next);
}

// Lets the browser offer passkeys in the e-mail field, for as long as the page is open.
async function offer(part) {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  for (;;) {
    const waiting = new AbortController();
    offered = waiting;
    let timedOut = false;
    const timer = setTimeout(() => { timedOut = true; waiting.abort(); }, ASK_AGAIN_MS);
    try {
      await signIn(part, { mediation: 'conditional', signal: waiting.signal });
      return;
    } catch (error) {
      if (!timedOut && !waiting.signal.aborted) part.querySelector('[data-fault]').textContent = sentenceOf(error, part);
      if (!timedOut) return;
    } finally {
      clearTimeout(timer);
    }
  }
}

async function ask(name, body) {
  const response = await fetch(API + name, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw { reason: answer.reason, sentence: answer.detail };
  return answer;
}

// The page has the sentences, in its language.
function sentenceOf(error, { dataset }) {
  if (typeof error?.sentence === 'string') return error.sentence;
  if (error?.name === 'NotAllowedError' || error?.name === 'AbortError') return dataset.cancelled;
  if (error?.name === 'InvalidStateError') return dataset.known;
  return dataset.failed;
}
`;
