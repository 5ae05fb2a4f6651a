/** Accepted passwords, and those that are guessed first. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { en } from '../texts/en.ts';
import { isCommonPassword } from './common-passwords.ts';
import { findPasswordFault as findFault, type PasswordOwner } from './password-rules.ts';

const findPasswordFault = (password: string, of: PasswordOwner) => findFault(password, of, en.newPassword);
const owner = { email: 'ada.lovelace@example.com', name: 'Ada Lovelace', appName: 'Fieldwork' };

describe('length', () => {
  test('8 to 256 characters, as a person counts them', () => {
    expect(findPasswordFault('sevengr', owner)).toContain('at least 8');
    expect(findPasswordFault('sevengre', owner)).toBeNull();
    const long = 'seven green bottles '.repeat(20);
    expect(findPasswordFault(long.slice(0, 256), owner)).toBeNull();
    expect(findPasswordFault(long.slice(0, 257), owner)).toContain('at most 256');
    // Eight characters, sixteen code units.
    expect(findPasswordFault('🦊🐢🦉🐝🐙🦔🐞🦀', owner)).toBeNull();
  });

  test('there are no rules about its characters', () => {
    for (const password of [
      'bottles on walls',
      '        x       y',
      'пароль для меня',
      '黄色い自転車で海まで行く',
    ])
      expect(findPasswordFault(password, owner)).toBeNull();
  });
});

test.each([
  'ada.lovelace@example.com',
  'ADA.Lovelace@Example.Com',
  'adalovelace',
  'Ada Lovelace',
  'AdaLovelace1815',
  'lovelace.ada@example.com'.replace('lovelace.ada', 'ada.lovelace'),
  'fieldwork',
  'Fieldwork!',
  'fieldworkfieldwork',
  'Fieldwork2026',
  'example.com',
])('%s is refused: it is the owner’s own name, address or site', (password) => {
  expect(findPasswordFault(password, owner)).toContain('Choose something else');
});

test.each([
  'password',
  'Password1',
  'P@ssw0rd',
  'p455w0rd!',
  'passw0rd2026!',
  '12345678',
  '123456789',
  '1234567890',
  '87654321',
  'abcdefgh',
  'qwertyuiop',
  'qwertyui1',
  'asdfghjkl',
  '1qaz2wsx',
  'q1w2e3r4',
  '11111111',
  'aaaaaaaaaa',
  'abababab',
  'abcabcabc',
  'passwordpassword',
  'iloveyou',
  'ILoveYou!',
  'letmein123',
  'Welcome1!',
  'changeme',
  'sunshine',
  'trustno1',
  'football1',
  'superman',
  'Summer2026',
  'administrator',
  'qwerty123',
])('%s is refused: every attacker tries it', (password) => {
  expect(isCommonPassword(password)).toBe(true);
});

/** The most common ones of many breaches, and their variants under composition rules. */
const WELL_KNOWN =
  `qazwsxedc 1q2w3e4r zaq12wsx zaq1zaq1 12344321 asdfasdf q1w2e3r4 987654321 147258369 123qweasd
  1234qwer qwer1234 abcd1234 asdf1234 aa123456 a1b2c3d4 woaini1314 metallica scorpion midnight marlboro danielle
  victoria jonathan startrek redskins creative qazwsx123 88888888 11223344 123123123 iloveyou1 trustno1 p@ssw0rd
  Passw0rd! Password123! welcome1 Welcome123 letmein1 football1 baseball1 superman1 hunter123 killer123 matthew1
  asdfghjkl1 zxcvbnm123 1qazxsw2 qweasdzxc qwe123456 q123456789 a123456789 123456789a 123456abc abc12345 pass1234
  admin123 admin1234 root1234 test1234 guest123 changeme123 nicole12 jessica1 anthony1 daniel123 samantha benjamin
  whatever1 cocacola chocolate1 snoopy12 jesus123 jesuschrist godisgood blessed1 family12 lovelove loveyou123
  mynoob123 18atcskd2w 3rjs1la7qe 1g2w3e4r google123 linkedin1 dubsmash myspace1 rockyou1 myspace123 tinkerbell
  alexander elizabeth christopher hellokitty barcelona1 manchester realmadrid`.split(/\s+/);

test('the well-known ones are refused, every one', () => {
  expect(WELL_KNOWN.filter((password) => !isCommonPassword(password))).toEqual([]);
});

test('a date, a pattern of a telephone and two common words are refused; ten random characters are not', () => {
  for (const password of ['19841984', '24121990', 'monkeydragon', 'summer-2026', 'Liverpool1892!'])
    expect(isCommonPassword(password)).toBe(true);
  for (const password of ['kzqv83bmxt', 'xk7Pq2vRz9', 'fjord plums wade', '4823 9175 0638 2291'])
    expect(isCommonPassword(password)).toBe(false);
});

test.each([
  'seven green bottles',
  'correct horse battery staple',
  'my dragon eats cookies',
  'T7#kq9!vLz',
  'a sunshine state of mind',
  '12345 reasons to leave',
  'horse-qwerty-lamp',
])('%s is taken', (password) => {
  expect(findPasswordFault(password, owner)).toBeNull();
});

test('no password makes the judge throw, or appears in its fault', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (password) => {
      const fault = findPasswordFault(password, owner);
      if (password.length > 12) expect(fault ?? '').not.toContain(password);
    }),
  );
});
