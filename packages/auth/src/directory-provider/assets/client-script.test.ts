/** The script of the pages, in a browser made of a few objects. */
import vm from 'node:vm';
import { describe, expect, test } from 'vitest';
import { en } from '../texts/en.ts';
import { CLIENT_SCRIPT } from './client-script.ts';

type Listener = () => unknown;

class FakeElement {
  hidden = true;
  textContent = '';
  type = '';
  value = '';
  form: FakeElement | null = null;
  focused = 0;
  readonly dataset: Record<string, string>;
  readonly attributes = new Map<string, string>();
  readonly listeners = new Map<string, Listener>();
  readonly parts: Record<string, FakeElement> = {};

  constructor(dataset: Record<string, string> = {}) {
    this.dataset = dataset;
  }
  querySelector(selector: string) {
    return this.parts[selector];
  }
  addEventListener(name: string, listener: Listener) {
    this.listeners.set(name, listener);
  }
  getAttribute(name: string) {
    return this.attributes.get(name) ?? null;
  }
  setAttribute(name: string, value: string) {
    this.attributes.set(name, value);
  }
  removeAttribute(name: string) {
    this.attributes.delete(name);
  }
  focus() {
    this.focused += 1;
  }
}

interface Asked {
  readonly path: string;
  readonly body: Record<string, unknown>;
}

/** A page with these passkey parts, in a browser that has passkeys or has none. */
function open(parts: Record<string, string>[], { supported = true, conditional = false } = {}) {
  const asked: Asked[] = [];
  const visited: string[] = [];
  const ceremonies: Record<string, unknown>[] = [];
  const timers = new Map<number, Listener>();
  const answers: Record<string, { status: number; body: unknown }> = {
    '/api/auth/passkey/options': { status: 200, body: { challenge: 'c' } },
    '/api/auth/passkey/verify': { status: 200, body: { location: '/orders' } },
    '/api/auth/passkeys/options': { status: 200, body: { challenge: 'c' } },
    '/api/auth/passkeys': { status: 200, body: { location: '/api/auth/security' } },
  };
  let ceremony: () => Promise<unknown> = async () => ({ toJSON: () => ({ id: 'key' }) });
  const elements = parts.map((dataset) => {
    const element = new FakeElement({ ...en.script, ...dataset });
    element.parts.button = new FakeElement();
    element.parts['[data-fault]'] = new FakeElement();
    return element;
  });
  const password = new FakeElement();
  password.type = 'password';
  password.form = new FakeElement();
  const reveal = new FakeElement({ reveal: 'password' });
  const name = new FakeElement();
  name.value = 'Blue key';
  const parse = (json: object) => ({ ...json, parsed: true });
  const run = (options: Record<string, unknown>) => {
    ceremonies.push(options);
    return ceremony();
  };
  const PublicKeyCredential = Object.assign(() => undefined, {
    parseRequestOptionsFromJSON: parse,
    parseCreationOptionsFromJSON: parse,
    isConditionalMediationAvailable: async () => conditional,
  });
  const world = {
    ...(supported ? { PublicKeyCredential } : {}),
    AbortController,
    setTimeout: (task: Listener) => {
      timers.set(timers.size, task);
      return timers.size - 1;
    },
    clearTimeout: (timer: number) => void timers.delete(timer),
    document: {
      querySelectorAll: (selector: string) => (selector === '[data-reveal]' ? [reveal] : elements),
      querySelector: () => elements.find((each) => each.dataset.conditional !== undefined) ?? null,
      getElementById: (id: string) => ({ password, name })[id] ?? null,
    },
    navigator: { credentials: { get: run, create: run } },
    location: { assign: (url: string) => void visited.push(url) },
    fetch: async (path: string, init: { body: string }) => {
      asked.push({ path, body: JSON.parse(init.body) });
      const { status, body } = answers[path] ?? { status: 404, body: {} };
      return Response.json(body, { status });
    },
  };
  vm.runInNewContext(CLIENT_SCRIPT, world);
  return {
    elements,
    reveal,
    password,
    asked,
    visited,
    ceremonies,
    timers,
    answers,
    click: async (index = 0) => elements[index]?.parts.button?.listeners.get('click')?.(),
    fault: (index = 0) => elements[index]?.parts['[data-fault]']?.textContent,
    setCeremony: (next: () => Promise<unknown>) => {
      ceremony = next;
    },
    settle: () => new Promise((resolve) => setImmediate(resolve)),
  };
}

describe('a browser without passkeys', () => {
  test('sees no button for them', () => {
    const page = open([{ passkey: 'sign-in' }], { supported: false });
    expect(page.elements[0]?.hidden).toBe(true);
    expect(page.asked).toEqual([]);
  });
});

describe('signing in', () => {
  test('asks for a challenge, has it signed, and goes where the answer says', async () => {
    const page = open([{ passkey: 'sign-in', returnTo: '/orders' }]);
    expect(page.elements[0]?.hidden).toBe(false);
    await page.click();
    expect(page.ceremonies).toEqual([{ publicKey: { challenge: 'c', parsed: true } }]);
    expect(page.asked).toEqual([
      { path: '/api/auth/passkey/options', body: {} },
      { path: '/api/auth/passkey/verify', body: { credential: { id: 'key' }, returnTo: '/orders' } },
    ]);
    expect(page.visited).toEqual(['/orders']);
  });

  test('to confirm says so both times', async () => {
    const page = open([{ passkey: 'sign-in', confirm: '' }]);
    await page.click();
    expect(page.asked.map((each) => each.body.confirm)).toEqual([true, true]);
  });

  test('that is refused or cancelled shows the fault beside the button, which can be used again', async () => {
    const page = open([{ passkey: 'sign-in' }]);
    page.answers['/api/auth/passkey/verify'] = {
      status: 403,
      body: { reason: 'passkey_refused', detail: 'This passkey was not accepted.' },
    };
    await page.click();
    expect([page.fault(), page.visited]).toEqual(['This passkey was not accepted.', []]);
    page.setCeremony(() => Promise.reject(new DOMException('', 'NotAllowedError')));
    await page.click();
    expect(page.fault()).toContain('cancelled');
    page.setCeremony(() => Promise.reject(new TypeError('secret detail')));
    await page.click();
    expect(page.fault()).toBe('That did not work. Try again, or use your password.');
    expect(page.elements[0]?.parts.button?.getAttribute('aria-busy')).toBeNull();
  });

  test('ignores a second click while the first is running', async () => {
    const page = open([{ passkey: 'sign-in' }]);
    page.setCeremony(() => new Promise(() => undefined));
    void page.click();
    await page.settle();
    void page.click();
    await page.settle();
    expect(page.ceremonies).toHaveLength(1);
  });
});

describe('passkeys offered in the e-mail field', () => {
  const login = [{ passkey: 'sign-in', conditional: '' }];

  test('appear where the browser supports them; elsewhere nothing is requested', async () => {
    const page = open(login, { conditional: true });
    await page.settle();
    expect(page.ceremonies[0]).toMatchObject({ mediation: 'conditional' });
    expect(page.visited).toEqual(['/orders']);
    const other = open(login);
    await other.settle();
    expect(other.asked).toEqual([]);
  });

  test('give way to the button', async () => {
    const page = open(login, { conditional: true });
    const waiting: AbortSignal[] = [];
    page.setCeremony(() => {
      const { signal } = page.ceremonies.at(-1) as { signal?: AbortSignal };
      if (!signal) return Promise.resolve({ toJSON: () => ({ id: 'key' }) });
      waiting.push(signal);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    await page.settle();
    await page.click();
    await page.settle();
    expect([waiting.length, waiting[0]?.aborted, page.visited, page.fault()]).toEqual([
      1,
      true,
      ['/orders'],
      '',
    ]);
  });

  test('ask for a fresh challenge before the old one expires', async () => {
    const page = open(login, { conditional: true });
    page.setCeremony(() => {
      const { signal } = page.ceremonies.at(-1) as { signal: AbortSignal };
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    await page.settle();
    for (const [timer, task] of page.timers) {
      page.timers.delete(timer);
      task();
    }
    await page.settle();
    expect([page.ceremonies.length, page.asked.length]).toEqual([2, 2]);
  });
});

describe('registering', () => {
  test('for an account sends the name beside it', async () => {
    const page = open([{ passkey: 'register', nameFrom: 'name' }]);
    await page.click();
    expect(page.asked).toEqual([
      { path: '/api/auth/passkeys/options', body: {} },
      { path: '/api/auth/passkeys', body: { credential: { id: 'key' }, name: 'Blue key' } },
    ]);
    expect(page.visited).toEqual(['/api/auth/security']);
  });

  test('for a sign-up sends the link’s token both times', async () => {
    const page = open([{ passkey: 'register', linkToken: 'tok', nameFrom: 'name' }]);
    await page.click();
    expect(page.asked.map((each) => each.body.linkToken)).toEqual(['tok', 'tok']);
  });

  test('goes to the confirmation when it is demanded', async () => {
    const page = open([{ passkey: 'register' }]);
    page.answers['/api/auth/passkeys/options'] = {
      status: 403,
      body: { reason: 'confirm_first', detail: 'x' },
    };
    await page.click();
    expect(page.visited).toEqual(['/api/auth/confirm?returnTo=%2Fapi%2Fauth%2Fsecurity']);
  });

  test('shows when the device has one already', async () => {
    const page = open([{ passkey: 'register' }]);
    page.setCeremony(() => Promise.reject(new DOMException('', 'InvalidStateError')));
    await page.click();
    expect(page.fault()).toContain('already has a passkey');
  });
});

test('a password can be shown, and is hidden again when it is sent', () => {
  const { reveal, password } = open([]);
  expect(reveal.hidden).toBe(false);
  reveal.listeners.get('click')?.();
  expect([password.type, reveal.getAttribute('aria-pressed'), password.focused]).toEqual(['text', 'true', 1]);
  password.form?.listeners.get('submit')?.();
  expect(password.type).toBe('password');
});
