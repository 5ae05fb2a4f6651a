/**
 * The passwords that attackers try first (OWASP ASVS 5.0, 6.2.4): common words with their usual spellings and endings,
 * runs of a keyboard, repetitions, dates and a few famous ones. They are patterns of our own, not a list of the first
 * 3,000 or of breached passwords; they stop the guesses that a rate limit allows.
 */

/** Lower case, letters in place of look-alike signs. */
const COMMON_WORDS = new Set(
  `password passwort motdepasse contrasena contraseña senha wachtwoord haslo parola lozinka salasana pass passw passwd
   administrator admin root toor user guest login logon signin welcome willkommen bienvenue hello hallo hola bonjour
   secret changeme change letmein openup opensesame trustno default test testing tester temp temporary demo sample
   qwerty qwertz azerty dvorak iloveyou iloveu ichliebedich jetaime teamo woaini loveyou love lovely lover sweetheart
   sweet sweety angel angels baby babygirl babyboy honey sugar candy cookie cookies chocolate cupcake
   monkey dragon master superman batman spiderman starwars startrek pokemon pikachu naruto matrix gandalf hobbit
   football baseball basketball soccer hockey tennis golfer golf rugby cricket volleyball swimming skater surfer
   sunshine princess prince shadow computer internet samsung google facebook linkedin myspace twitter instagram youtube
   dubsmash rockyou yahoo hotmail gmail android apple iphone windows microsoft nintendo playstation xbox minecraft
   liverpool chelsea arsenal manchester barcelona realmadrid juventus bayern celtic rangers yankees redskins cowboys
   steelers eagles packers lakers raiders broncos patriots dolphins tigers lions bears
   summer winter spring autumn january february march april june july august september october november december
   monday tuesday wednesday thursday friday saturday sunday london paris berlin newyork america canada mexico brasil
   england germany france italia espana australia india texas florida chicago boston dallas denver phoenix
   whatever freedom nothing nobody blahblah abcabc access mustang corvette ferrari porsche mercedes toyota honda yamaha
   harley suzuki subaru audi camaro jaguar bmw pepper ginger banana orange purple yellow silver golden green black
   white flower flowers butterfly rainbow diamond crystal sparky snoopy garfield mickey minnie tinkerbell barbie
   hellokitty disney simpson scooby bubbles peanut pumpkin muffin cheese coffee cocacola pepsi budweiser marlboro
   smokey bandit rocky rambo ranger hunter killer hacker gamer player winner loser lucky magic maverick merlin phantom
   wizard warrior ninja samurai knight viking pirate cowboy soldier marine navy army police sniper gunner bulldog
   tiger eagle falcon hawk wolf bear lion panther cobra viper scorpion spider shark turtle penguin panda kitty puppy
   buster bailey bella max charlie daisy molly sophie lucy oliver milo teddy sammy casper chester cooper oscar
   michael michelle jennifer jessica ashley amanda samantha sarah melissa nicole stephanie elizabeth heather christina
   christine christopher christian joshua matthew daniel danielle david james robert john joseph andrew anthony ryan
   brandon jason justin william jonathan nicholas thomas steven richard charles patrick alexander alexandra alexis
   benjamin samuel george victor victoria vanessa veronica natalie natasha nathan taylor jordan morgan austin tyler
   hannah rachel rebecca laura maria martin martina carlos miguel antonio fernando alejandro roberto ricardo eduardo
   sebastian francesco giovanni andrea valentina gabriel gabriela isabella claudia monica monika sabrina sandra susan
   barbara patricia linda kimberly andrei natalia tatiana dmitri sergey vladimir mohamed mohammed ahmed ibrahim fatima
   jesus jesuschrist christ godisgood god blessed blessing faith heaven church family familia mother father mommy daddy
   sister brother friend friends forever always together happy smile peace hope dream dreams wonder destiny
   metallica nirvana slipknot greenday eminem beatles elvis madonna blink guitar guitarist drummer music rocknroll
   midnight moonlight starlight thunder lightning storm ocean river island beach mountain galaxy universe
   creative creator design student teacher school college university doctor nurse manager office business company
   money dollar million success power energy fire ice snow hot cool sexy bitch fuck fuckyou fuckoff asshole shit
   mynoob noob newbie asdf zxcv qwer qazwsx passphrase mypassword thisismypassword nopassword newpassword oldpassword
   yourpassword security secure private hidden server system network database support service helpdesk`
    .split(/\s+/)
    .filter((word) => word !== ''),
);
const WORD_LENGTH_MAX = Math.max(...[...COMMON_WORDS].map((word) => word.length));

/** On every list, and matched by no pattern. */
const FAMOUS = new Set(['18atcskd2w', '3rjs1la7qe', '1g2w3e4r']);

/** Rows and columns of keyboards, of any length and in both directions. */
const RUNS = [
  '01234567890123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'qsdfghjklm',
  'zxcvbnm',
  'yxcvbnm',
  'wxcvbn',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik',
  '1qazxsw23edcvfr45tgbnhy67ujm',
  'qazwsxedcrfvtgbyhnujm',
  'qazxswedcvfrtgbnhyujm',
  'zaq12wsxcde34rfvbgt56yhn',
  '1q2w3e4r5t6y7u8i9o0p',
  'q1w2e3r4t5y6u7i8o9p0',
  '147258369',
  '159357',
  '741852963',
  'qweasdzxc',
  'qwertyuiopasdfghjklzxcvbnm',
].flatMap((run) => [run, [...run].reverse().join('')]);
const RUN_LENGTH_MIN = 3;

/** Signs that replace letters, as attackers know. */
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

/** The least effort of a password: three words in a row are not enough, nor one with a year and a sign. */
const EFFORT_MIN = 10;
const EFFORT = { word: 3, run: 2, digits: 3, other: 2 };
const DIGITS_MAX = 4;

export function isCommonPassword(password: string): boolean {
  const text = password.normalize('NFKC').toLowerCase();
  const bare = text.replace(/[._-]+/g, '');
  return FAMOUS.has(bare) || isRepetition(text) || isInterleaved(text) || effortOf(bare) < EFFORT_MIN;
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

/** `a1b2c3d4`: two runs, in turns. */
function isInterleaved(text: string): boolean {
  const characters = [...text];
  const halves = [0, 1].map((odd) => characters.filter((_, i) => i % 2 === odd).join(''));
  return halves.every((half) => half.length >= RUN_LENGTH_MIN && RUNS.some((run) => run.includes(half)));
}

/** Returns the effort of thinking of a text: the least sum of its pieces, over all ways to cut it. */
function effortOf(text: string): number {
  const read = text.replace(/[@43$5!017]/g, (sign) => LOOK_ALIKES[sign] ?? sign);
  // From the end: the effort after each position.
  const left = Array<number>(text.length + 1).fill(0);
  for (let start = text.length - 1; start >= 0; start -= 1) {
    let least = EFFORT.other + (left[start + 1] ?? 0);
    for (let end = start + 2; end <= Math.min(text.length, start + WORD_LENGTH_MAX); end += 1) {
      const effort = effortOfPiece(text.slice(start, end), read.slice(start, end));
      least = Math.min(least, effort + (left[end] ?? 0));
    }
    left[start] = least;
  }
  return left[0] ?? 0;
}

function effortOfPiece(piece: string, read: string): number {
  if (COMMON_WORDS.has(piece) || COMMON_WORDS.has(read)) return EFFORT.word;
  const isRun = piece.length >= RUN_LENGTH_MIN && RUNS.some((run) => run.includes(piece));
  if (isRun || /^(\S)\1+$/u.test(piece)) return EFFORT.run;
  return piece.length <= DIGITS_MAX && /^\d+$/.test(piece) ? EFFORT.digits : Number.POSITIVE_INFINITY;
}
