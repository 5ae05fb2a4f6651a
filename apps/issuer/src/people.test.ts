import { expect, test } from 'vitest';
import { findPerson, loginOfHint, seededPeople } from './people/people.ts';

test('everybody seeded has a reserved address and a login name, and exactly one address is unverified', () => {
  for (const person of seededPeople) {
    expect(person.email).toBe(`${person.login}@example.test`);
    expect(findPerson([], person.login)).toBeDefined();
  }
  expect(seededPeople.map((person) => person.login)).toEqual(
    expect.arrayContaining(['ada', 'grace', 'linus']),
  );
  expect(seededPeople.filter((person) => !person.emailVerified)).toHaveLength(1);
});

test('another person is made from the login name, the same every time', () => {
  const person = findPerson(seededPeople, 'maria-lopez');
  expect(person).toEqual({
    login: 'maria-lopez',
    name: 'Maria Lopez',
    email: 'maria-lopez@example.test',
    emailVerified: true,
  });
  expect(findPerson(seededPeople, 'maria-lopez')).toEqual(person);
});

test.each([
  '',
  'a',
  'Ada',
  '1ada',
  '-ada',
  'ada lovelace',
  'ada@example.test',
  'a'.repeat(32),
  'ada\n',
  '<b>',
])('%j is no person', (name) => {
  expect(findPerson(seededPeople, name)).toBeUndefined();
});

test.each([
  ['ada', 'ada'],
  ['Grace@Example.test', 'grace'],
  [' new-one@example.test ', 'new-one'],
  ['other@elsewhere.example', undefined],
  ['', undefined],
])('the hint %j means %j', (hint, login) => {
  expect(loginOfHint(seededPeople, hint)).toBe(login);
});
