/**
 * The passwords that everybody tries first (OWASP ASVS 5.0, 6.2.4): a few roots, with the endings and spellings that
 * people give them, and the runs of a keyboard. It is no breach list; it stops the guesses that a rate limit lets by.
 */

/** Lower case, without digits at the ends, letters in place of look-alike signs. */
const ROOTS = new Set(
  `password passwort motdepasse contrasena contraseña senha wachtwoord haslo parola lozinka salasana
   administrator admin root toor user guest login logon signin welcome willkommen bienvenue hello hallo
   secret changeme change letmein letmeinnow openup opensesame trustno trustnoone default test testing tester
   temp temporary qwerty qwertz azerty dvorak iloveyou ichliebedich jetaime teamo loveyou lovely sweetheart
   monkey dragon master superman batman spiderman starwars pokemon football baseball basketball soccer
   sunshine princess shadow michael jordan jennifer ashley charlie computer internet samsung google facebook
   liverpool chelsea arsenal barcelona juventus summer winter spring autumn january october november december
   monday friday london newyork america whatever freedom nothing blahblah abcabc access mustang corvette
   ferrari mercedes pepper ginger cookie chocolate banana orange purple flower butterfly rainbow diamond
   passphrase mypassword thisismypassword nopassword newpassword oldpassword yourpassword`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

/** What is typed by running a finger along something, forwards or backwards, any length. */
const RUNS = [
  '01234567890123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'yxcvbnm',
  '1qaz2wsx3edc4rfv5tgb',
  '1q2w3e4r5t6y7u8i9o0p',
  'q1w2e3r4t5y6u7i8o9p0',
  'qwertyuiopasdfghjklzxcvbnm',
];

/** Look-alikes that fool nobody. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '0': 'o',
  $: 's',
  '5': 's',
  '1': 'i',
  '!': 'i',
  '7': 't',
};

/** How many characters of a password that holds a run may be something else before it counts as a password. */
const BESIDE_A_RUN_MAX = 2;

/** Whether a password is one of the first that anybody would try. */
export function isCommonPassword(password: string): boolean {
  const text = password.normalize('NFKC').toLowerCase();
  return isRepetition(text) || isRun(text) || coresOf(text).some((core) => ROOTS.has(core));
}

/** `aaaaaaaa`, `abababab`, `abcabcabc`, `passwordpassword`: a short piece over and over, or a word twice. */
function isRepetition(text: string): boolean {
  const pieces = [1, 2, 3, 4, Math.ceil(text.length / 2)];
  return pieces.some((size) => {
    const piece = text.slice(0, size);
    const repeats = piece.repeat(Math.ceil(text.length / size)).startsWith(text) && size < text.length;
    return repeats && (size <= 4 || isCommonPassword(piece));
  });
}

/** `12345678`, `qwertyuiop1`, `87654321`: nothing but a run, and at most two characters. */
function isRun(text: string): boolean {
  const needed = Math.max(6, text.length - BESIDE_A_RUN_MAX);
  const reversed = [...text].reverse().join('');
  for (let start = 0; start + needed <= text.length; start += 1) {
    if (RUNS.some((run) => run.includes(text.slice(start, start + needed)))) return true;
    if (RUNS.some((run) => run.includes(reversed.slice(start, start + needed)))) return true;
  }
  return false;
}

/** The word without its digits and signs around it, as typed and with look-alikes read as letters. */
function coresOf(text: string): string[] {
  const trim = (word: string) => word.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '').replace(/[\s._-]+/g, '');
  const read = (word: string) => word.replace(/[@43$5!017]/g, (sign) => LOOK_ALIKES[sign] ?? sign);
  const bare = text.replace(/[\d\W_]+$/u, '');
  return [
    trim(text),
    read(trim(text)),
    trim(read(text)),
    trim(read(bare)),
    trim(read(bare).replace(/^\d+/, '')),
  ];
}
