/** The SMTP mailer against a real server on a real socket. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { afterEach, describe, expect, test } from 'vitest';
import { makeSmtpMailer, type SmtpMailer, type SmtpMailerOptions } from './smtp-mailer.ts';

const cert = readFileSync(new URL('../test/localhost.cert.pem', import.meta.url), 'utf8');
const key = readFileSync(new URL('../test/localhost.key.pem', import.meta.url), 'utf8');
const mail = { to: 'ada@example.org', subject: 'Your sign-up', text: 'Open https://acme.test/x\n' };

interface Taken {
  readonly from: string;
  readonly to: readonly string[];
  readonly secure: boolean;
  readonly user: string | undefined;
  readonly source: string;
}

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A mail server on this machine that keeps what it takes. */
async function serve(options: SMTPServerOptions = {}, askedPort = 0) {
  const taken: Taken[] = [];
  let connections = 0;
  const server = new SMTPServer({
    authOptional: true,
    logger: false,
    key,
    cert,
    onConnect: (_session, callback) => {
      connections += 1;
      callback();
    },
    onAuth: ({ username, password }, _session, callback) =>
      username === 'robot@acme' && password === 'p/w d'
        ? callback(null, { user: username })
        : callback(new Error('no')),
    onData: (stream, session, callback) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        taken.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map((each) => each.address),
          secure: session.secure,
          user: session.user as string | undefined,
          source: Buffer.concat(chunks).toString('utf8'),
        });
        callback();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  const listening = server.listen(askedPort, '127.0.0.1');
  await once(listening, 'listening');
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  const { port } = listening.address() as { port: number };
  return { taken, port, connections: () => connections };
}

function open(url: string, more: Partial<SmtpMailerOptions> = {}): SmtpMailer {
  const mailer = makeSmtpMailer({ url, from: 'Acme Trades <robot@acme.test>', ...more });
  cleanups.push(async () => mailer.close());
  return mailer;
}

describe('a message', () => {
  test('arrives for exactly its recipient, from the sender, as text and as HTML', async () => {
    const { taken, port } = await serve();
    await open(`smtp://127.0.0.1:${port}`).send({
      ...mail,
      html: '<p>Open <a href="https://acme.test/x">it</a></p>',
    });
    expect(taken).toMatchObject([{ from: 'robot@acme.test', to: ['ada@example.org'], secure: false }]);
    const source = taken[0]?.source ?? '';
    expect(source).toMatch(/^From: Acme Trades <robot@acme\.test>\r$/m);
    expect(source).toMatch(/^To: ada@example\.org\r$/m);
    expect(source).toMatch(/^Subject: Your sign-up\r$/m);
    expect(source).toMatch(/^Auto-Submitted: auto-generated\r$/im);
    expect(source).toMatch(/^Content-Type: multipart\/alternative;/m);
    const text = source.indexOf('Content-Type: text/plain');
    const html = source.indexOf('Content-Type: text/html');
    expect(text).toBeGreaterThan(0);
    expect(html).toBeGreaterThan(text);
    expect(source.slice(text, html)).toContain('Open https://acme.test/x');
    expect(source.slice(html)).toContain('<p>Open <a href=');
  });

  test('without HTML is text alone, in any language', async () => {
    const { taken, port } = await serve();
    await open(`smtp://127.0.0.1:${port}`).send({ ...mail, subject: 'Zurücksetzen', text: 'Für Ada: äöü ✓' });
    const source = taken[0]?.source ?? '';
    expect(source).not.toContain('multipart');
    expect(source).toContain('Subject: =?UTF-8?');
    expect(source).toMatch(/Content-Type: text\/plain; charset=utf-8/);
  });

  test('whose text looks like the end of one does not become two', async () => {
    const { taken, port } = await serve();
    const text = 'one\r\n.\r\nMAIL FROM:<eve@evil.test>\r\n\r\n..two\n.\n';
    await open(`smtp://127.0.0.1:${port}`).send({ ...mail, text });
    expect(taken).toHaveLength(1);
    expect(taken[0]?.source).toContain('MAIL FROM:<eve@evil.test>');
  });

  test.each([
    'ada@example.org, eve@evil.test',
    'ada@example.org;eve@evil.test',
    'ada@example.org eve@evil.test',
    'ada@example.org\r\nBcc: eve@evil.test',
    'ada@example.org\nBcc: eve@evil.test',
    'Ada <ada@example.org>',
    '<ada@example.org>',
    'team: ada@example.org;',
    '"a b"@example.org',
    'ada@example.org\u0000',
    'ada@@example.org',
    'ada',
    '@example.org',
    'ada@',
    '',
    `${'a'.repeat(65)}@example.org`,
    `ada@${'e'.repeat(250)}.org`,
  ])('to %j is refused before there is a connection', async (to) => {
    const { port, connections } = await serve();
    await expect(open(`smtp://127.0.0.1:${port}`).send({ ...mail, to })).rejects.toMatchObject({
      name: 'MailError',
      code: 'message_invalid',
      retryable: false,
    });
    expect(connections()).toBe(0);
  });

  test.each(['Hello\r\nBcc: eve@evil.test', 'Hello\nthere', 'Hello\u0000'])(
    'with the subject %j is refused',
    async (subject) => {
      const { port, connections } = await serve();
      await expect(open(`smtp://127.0.0.1:${port}`).send({ ...mail, subject })).rejects.toMatchObject({
        code: 'message_invalid',
      });
      expect(connections()).toBe(0);
    },
  );

  test('never gives more recipients than one, however many are sent', async () => {
    const { taken, port, connections } = await serve();
    const mailer = open(`smtp://127.0.0.1:${port}`);
    const people = Array.from({ length: 8 }, (_, i) => `p${i}@example.org`);
    await Promise.all(people.map((to) => mailer.send({ ...mail, to })));
    expect(taken.map(({ to }) => to.join()).sort()).toEqual(people);
    expect(connections()).toBeLessThanOrEqual(3);
  });
});

describe('TLS', () => {
  test('is used from the first byte with smtps://', async () => {
    const { taken, port } = await serve({ secure: true });
    await open(`smtps://localhost:${port}`, { ca: cert }).send(mail);
    expect(taken).toMatchObject([{ secure: true, to: ['ada@example.org'] }]);
  });

  test('is switched to before anything is said, with tls=required', async () => {
    const { taken, port } = await serve();
    await open(`smtp://robot%40acme:p%2Fw%20d@localhost:${port}?tls=required`, { ca: cert }).send(mail);
    expect(taken).toMatchObject([{ secure: true, user: 'robot@acme' }]);
  });

  test('that a server does not offer is a refusal, and neither message nor password leave', async () => {
    const attempts: string[] = [];
    const { taken, port } = await serve({
      hideSTARTTLS: true,
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: ({ username }, _session, callback) => {
        attempts.push(username ?? '');
        callback(null, { user: username });
      },
    });
    await expect(
      open(`smtp://robot:secret@localhost:${port}?tls=required`, { ca: cert }).send(mail),
    ).rejects.toMatchObject({ code: 'not_secure', retryable: false });
    expect(taken).toEqual([]);
    expect(attempts).toEqual([]);
  });

  test.each(['smtps', 'smtp'])(
    'with a certificate of an unknown authority is a refusal: %s',
    async (scheme) => {
      const { taken, port } = await serve({ secure: scheme === 'smtps' });
      await expect(open(`${scheme}://localhost:${port}?tls=required`).send(mail)).rejects.toMatchObject({
        code: 'not_secure',
        message: expect.stringMatching(/^The mail server at localhost:\d+ offers no TLS that can be trusted/),
      });
      expect(taken).toEqual([]);
    },
  );

  test('with a certificate for another name is a refusal', async () => {
    const { taken, port } = await serve({ secure: true });
    await expect(open(`smtps://127.0.0.1:${port}`, { ca: cert }).send(mail)).rejects.toMatchObject({
      code: 'not_secure',
    });
    expect(taken).toEqual([]);
  });
});

describe('a server that does not take it', () => {
  test('because of the password: says so, without the password', async () => {
    const { taken, port } = await serve({ allowInsecureAuth: true });
    const error = await open(`smtp://robot:wrong-word@127.0.0.1:${port}`)
      .send(mail)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'sign_in_refused', retryable: false });
    expect((error as Error).message).not.toContain('wrong-word');
    expect(taken).toEqual([]);
  });

  test('because it cannot look the user up at the moment: may be tried again', async () => {
    const { port } = await serve({
      allowInsecureAuth: true,
      onAuth: (_auth, _session, callback) =>
        callback(Object.assign(new Error('later'), { responseCode: 454 })),
    });
    await expect(open(`smtp://robot:word@127.0.0.1:${port}`).send(mail)).rejects.toMatchObject({
      code: 'sign_in_refused',
      retryable: true,
    });
  });

  test('without a sign-in is refused', async () => {
    const { taken, port } = await serve({ authOptional: false });
    await expect(open(`smtp://127.0.0.1:${port}`).send(mail)).rejects.toMatchObject({ code: 'refused' });
    expect(taken).toEqual([]);
  });

  test.each([
    [450, true],
    [550, false],
  ])('because of the recipient: %i, and the message names no person', async (responseCode, retryable) => {
    const { port } = await serve({
      onRcptTo: (_address, _session, callback) => callback(Object.assign(new Error('no'), { responseCode })),
    });
    const error = await open(`smtp://127.0.0.1:${port}`)
      .send(mail)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'refused', retryable });
    expect((error as Error).message).not.toContain('ada');
  });

  test('because it is down: rejects with where it was looked for, and works once it is up', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as { port: number };
    await once(gone.close(), 'close');
    const mailer = open(`smtp://127.0.0.1:${port}`);
    await expect(mailer.send(mail)).rejects.toMatchObject({
      code: 'unreachable',
      retryable: true,
      message: `The mail server at 127.0.0.1:${port} cannot be reached.`,
    });
    const { taken } = await serve({}, port);
    await mailer.send(mail);
    expect(taken).toHaveLength(1);
    mailer.close();
  });

  test('because it hangs up in the middle: is unreachable, and nothing is lost silently', async () => {
    const rude = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('220 hello\r\n');
      socket.on('data', () => socket.destroy());
    }).listen(0, '127.0.0.1');
    await once(rude, 'listening');
    cleanups.push(async () => void (await once(rude.close(), 'close')));
    const { port } = rude.address() as { port: number };
    await expect(open(`smtp://127.0.0.1:${port}`).send(mail)).rejects.toMatchObject({ code: 'unreachable' });
  });
});
