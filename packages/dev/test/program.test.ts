/** The real program: `freehold dev` in a builder's folder, with lines for programs, until Ctrl-C. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { makeSmallApp } from './small-app.ts';

const PROGRAM = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url));

test('freehold dev --json says each event on a line, serves saves, and ends with Ctrl-C and 0', async () => {
  using app = makeSmallApp();
  // An error that no request caught does not end the server, and what a deployed application may not do is refused here.
  app.write('src/late.ts', "setTimeout(() => {\n  throw new Error('too late');\n}, 0);\n");
  app.edit('src/app.ts', 'import', "import './late.ts';\nimport");
  const args = [PROGRAM, 'dev', '--port', '0', '--issuer-port', '0', '--json'];
  const child = spawn(process.execPath, args, { cwd: app.folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value as string) as { type: string; url: string };
  try {
    const [late, broken] = [await next(), await next()];
    expect(late).toMatchObject({
      type: 'fault',
      fault: { message: 'too late', file: 'src/late.ts', line: 2 },
    });
    const fault = { message: expect.stringContaining('setting a timeout'), file: 'src/late.ts', line: 1 };
    expect(broken).toMatchObject({ type: 'broken', serving: null, faults: [fault] });
    const { type, url } = await next();
    expect([type, (await fetch(`${url}/api/me`)).status]).toEqual(['ready', 503]);

    app.edit('src/app.ts', "import './late.ts';\n", '');
    const people = await next();
    expect([people.type, await next()]).toEqual([
      'people',
      expect.objectContaining({ type: 'served', version: 1 }),
    ]);
    expect((await fetch(`${url}/api/me`)).status).toBe(200);
    app.edit('src/books/operations.ts', 'const id =', 'const id ==');
    expect(await next()).toMatchObject({
      type: 'broken',
      serving: 1,
      faults: [{ file: 'src/books/operations.ts', line: 11 }],
    });
    app.edit('src/books/operations.ts', 'const id ==', 'const book =');
    expect(await next()).toMatchObject({ type: 'served', version: 2 });
    child.kill('SIGINT');
    expect(await next()).toMatchObject({ type: 'stopped' });
    expect(await ended).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
  }
});
