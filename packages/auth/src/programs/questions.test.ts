/** The rows of questions that wait for the person behind a program. */
import { describe, expect, test } from 'vitest';
import { openServer } from '../../test/programs.ts';
import { MINUTE_MS, OTHER_SCOPE, openPlatform, SCOPE } from '../../test/support.ts';

const of = (caller: string, question: string, scopeId = SCOPE) => ({ scopeId, caller, question });
const waits = (caller: string, question: string, scopeId = SCOPE) => ({
  ...of(caller, question, scopeId),
  call: `call of ${question}`,
});

describe('a question', () => {
  test('waits for ten minutes, and is forgotten with the next one', async () => {
    const { directory, clock } = await openPlatform();
    expect(await directory.openQuestion(waits('prg_1', 'a'))).toBe(true);
    clock.nowMs += 10 * MINUTE_MS - 1;
    expect(await directory.readQuestion(of('prg_1', 'a'))).toBe('waiting');
    clock.nowMs += 1;
    expect(await directory.readQuestion(of('prg_1', 'a'))).toBeNull();
    expect(await directory.answerQuestion({ ...of('prg_1', 'a'), answer: 'accepted' })).toBe(false);
    await directory.openQuestion(waits('prg_1', 'b'));
    clock.nowMs -= 10 * MINUTE_MS;
    expect(await directory.readQuestion(of('prg_1', 'a'))).toBeNull();
  });

  test.each([
    ['another instance', of('prg_1', 'a', OTHER_SCOPE)],
    ['another program', of('prg_2', 'a')],
    ['another question', of('prg_1', 'b')],
  ])('is neither read, answered nor closed as that of %s', async (_title, other) => {
    const { directory } = await openPlatform();
    await directory.openQuestion(waits('prg_1', 'a'));
    expect(await directory.readQuestion(other)).toBeNull();
    expect(await directory.answerQuestion({ ...other, answer: 'accepted' })).toBe(false);
    await directory.closeQuestion(other);
    expect(await directory.readQuestion(of('prg_1', 'a'))).toBe('waiting');
  });

  test('is over with the access of its program', async () => {
    const { directory, ada, principal } = await openServer();
    const { id: grant } = await directory.makePersonalToken({
      ...{ scopeId: SCOPE, subject: ada.subject, name: 'a script', ttlMs: MINUTE_MS },
      allowed: { access: 'all' },
    });
    for (const caller of [grant, 'prg_2']) await directory.openQuestion(waits(caller, 'a'));
    await directory.answerQuestion({ ...of(grant, 'a'), answer: 'accepted' });
    await directory.endProgram({ scopeId: SCOPE, grant, of: null, by: principal });
    expect(await directory.readQuestion(of(grant, 'a'))).toBeNull();
    expect(await directory.readQuestion(of('prg_2', 'a'))).toBe('waiting');
  });

  test('is forgotten with its instance', async () => {
    const { directory } = await openPlatform();
    for (const scope of [SCOPE, OTHER_SCOPE]) await directory.openQuestion(waits('prg_1', 'a', scope));
    await directory.forgetScope({ scopeId: SCOPE });
    expect(await directory.readQuestion(of('prg_1', 'a'))).toBeNull();
    expect(await directory.readQuestion(of('prg_1', 'a', OTHER_SCOPE))).toBe('waiting');
  });
});

test('as many wait as ten of one program, and a hundred of one instance: its code may be hostile', async () => {
  const { directory } = await openPlatform();
  const opened: boolean[] = [];
  for (let program = 0; program < 11; program += 1)
    for (let n = 0; n < (program === 0 ? 11 : 10); n += 1)
      opened.push(await directory.openQuestion(waits(`prg_${program}`, `${n}`)));
  expect(opened.map((isOpen, at) => (isOpen ? null : at)).filter((at) => at !== null)).toEqual([
    10,
    ...Array.from({ length: 10 }, (_, at) => 101 + at),
  ]);
  expect(await directory.openQuestion(waits('prg_1', 'a', OTHER_SCOPE))).toBe(true);
});
