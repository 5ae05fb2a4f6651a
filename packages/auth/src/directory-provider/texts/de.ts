/** The texts of the sign-in pages and their mails, in German. */
import type { ProblemCode } from '@freehold/contracts';
import { html } from '../markup/html.ts';
import type { Span, Texts } from './en.ts';

const TITLES: Partial<Record<ProblemCode, string>> = {
  validation_failed: 'Die Anfrage hat nicht die richtige Form',
  unauthenticated: 'Melden Sie sich zuerst an',
  forbidden: 'Das ist nicht erlaubt',
  not_found: 'Hier ist nichts',
  method_not_allowed: 'Diese Adresse kennt diese Methode nicht',
  conflict: 'Das passt nicht zu dem, was schon da ist',
  payload_too_large: 'Die Anfrage ist zu groß',
  unsupported_media_type: 'Diese Art von Inhalt wird hier nicht angenommen',
  rate_limited: 'Zu viele Anfragen',
  internal: 'Bei uns ist etwas schiefgegangen',
  unavailable: 'Das ist gerade nicht verfügbar',
};

/** By the reason of a refusal, or by its English sentence where it has none. */
const SENTENCES: ReadonlyMap<string, string> = new Map([
  ['account_exists', 'Zu dieser E-Mail-Adresse gibt es schon ein Konto.'],
  ['account_unknown', 'Dieses Konto gibt es nicht.'],
  ['session_ended', 'Diese Sitzung wurde beendet. Melden Sie sich erneut an.'],
  ['confirm_first', 'Bestätigen Sie zuerst, dass Sie es sind, und versuchen Sie es dann erneut.'],
  ['link_used', 'Dieser Link wurde schon verwendet.'],
  ['link_expired', 'Dieser Link ist abgelaufen. Fordern Sie einen neuen an.'],
  ['link_unknown', 'Dieser Link funktioniert nicht mehr. Fordern Sie einen neuen an.'],
  ['owner_seat_held', 'Dieses Konto hat den Inhaberplatz einer Anwendung. Übergeben Sie den Platz zuerst.'],
  ['totp_enabled', 'Es gibt schon einen zweiten Faktor. Schalten Sie ihn zuerst aus.'],
  ['totp_disabled', 'Wiederherstellungscodes vertreten einen zweiten Faktor, und es gibt keinen.'],
  ['code_wrong', 'Dieser Code stimmt nicht. Versuchen Sie es mit dem nächsten.'],
  [
    'last_credential',
    'Dieser Passkey ist der einzige Weg in das Konto. Fügen Sie zuerst einen anderen hinzu.',
  ],
  ['passkey_refused', 'Dieser Passkey wurde nicht angenommen.'],
  ['passkey_known', 'Dieser Passkey gehört schon zu einem Konto.'],
  ['passkeys_full', 'Mehr Passkeys kann ein Konto nicht haben. Entfernen Sie zuerst einen.'],
  ['passkey_unknown', 'Diesen Passkey gibt es nicht.'],
  ['cross_site', 'Das geht nur von einer Seite dieser Anwendung aus.'],
  ['form_invalid', 'Das Formular ist unvollständig oder hat ein Feld, das nicht dazugehört.'],
  ['This is not an e-mail address.', 'Das ist keine E-Mail-Adresse.'],
  ['A name has at most 100 characters.', 'Ein Name hat höchstens 100 Zeichen.'],
  ['Sign in first.', 'Melden Sie sich zuerst an.'],
]);

const UNITS: Readonly<Record<Span['unit'], readonly [one: string, many: string]>> = {
  minute: ['eine Minute', 'Minuten'],
  hour: ['eine Stunde', 'Stunden'],
  day: ['einen Tag', 'Tage'],
};

function spanText({ unit, count }: Span): string {
  const [one, many] = UNITS[unit];
  return count === 1 ? one : `${count} ${many}`;
}

export const de: Texts = {
  frame: {
    error: 'Fehler: ',
    help: 'Hilfe',
    signIn: 'Anmelden',
    goBack: 'Zurück',
    backToSignIn: 'Zurück zur Anmeldung',
    or: 'oder',
    email: 'E-Mail-Adresse',
    password: 'Passwort',
    code: 'Code',
    nameOptional: 'Ihr Name (freiwillig)',
    showPassword: 'Passwort anzeigen',
    continue: 'Weiter',
    tooMany: (minutes) =>
      `Zu viele Versuche. Versuchen Sie es in ${minutes === 1 ? 'einer Minute' : `${minutes} Minuten`} erneut.`,
    titleOf: ({ code }, title) => TITLES[code] ?? title,
    sentenceOf: ({ reason, message }) => SENTENCES.get(reason ?? message) ?? message,
  },
  script: {
    cancelled: 'Das wurde abgebrochen oder hat zu lange gedauert. Versuchen Sie es erneut.',
    known: 'Dieses Gerät hat schon einen Passkey für Ihr Konto.',
    failed: 'Das hat nicht geklappt. Versuchen Sie es erneut, oder verwenden Sie Ihr Passwort.',
  },
  notices: {
    name_saved: 'Ihr Name wurde gespeichert.',
    email_sent:
      'Öffnen Sie die Mail, die wir an die neue Adresse geschickt haben, und folgen Sie dem Link darin, um die Adresse zu bestätigen.',
    email_changed: 'Ihre Adresse wurde geändert. Von jetzt an melden Sie sich mit der neuen an.',
    password_changed: 'Ihr Passwort wurde geändert, und alle anderen Sitzungen wurden beendet.',
    passkey_added: 'Der Passkey wurde hinzugefügt.',
    passkey_renamed: 'Der Passkey wurde umbenannt.',
    passkey_removed: 'Der Passkey wurde entfernt.',
    totp_disabled: 'Die Bestätigung in zwei Schritten wurde ausgeschaltet.',
    session_ended: 'Diese Sitzung wurde beendet.',
    signed_out: 'Sie sind überall abgemeldet.',
    second_factor_expired:
      'Das hat zu lange gedauert, oder zu viele Codes waren falsch. Melden Sie sich erneut an.',
  },
  newPassword: {
    label: 'Neues Passwort',
    hint: 'Mindestens 8 Zeichen. Ein paar Wörter hintereinander sind leicht zu merken und schwer zu erraten.',
    tooShort: (min) => `Verwenden Sie mindestens ${min} Zeichen.`,
    tooLong: (max) => `Verwenden Sie höchstens ${max} Zeichen.`,
    repeatsOwner:
      'Das ist Ihre E-Mail-Adresse, Ihr Name oder der Name dieser Anwendung. Wählen Sie etwas anderes.',
    common:
      'Das ist eines der ersten Passwörter, die ein Angreifer versuchen würde. Wählen Sie etwas anderes.',
  },
  signIn: {
    heading: (app) => `Bei ${app} anmelden`,
    passkey: 'Mit einem Passkey anmelden',
    forgot: 'Ich habe mein Passwort vergessen',
    newHere: 'Neu hier?',
    signUp: 'Konto anlegen',
    refused: 'Diese E-Mail-Adresse und dieses Passwort gehören nicht zusammen.',
  },
  secondFactor: {
    heading: 'Geben Sie Ihren Code ein',
    what: 'Öffnen Sie Ihre Authentifizierungs-App und geben Sie den Code ein, den sie zeigt. Wenn Sie sie nicht haben, geben Sie einen Ihrer Wiederherstellungscodes ein.',
    again: 'Von vorn beginnen',
    refused: 'Dieser Code stimmt nicht oder wurde schon verwendet. Versuchen Sie es mit dem nächsten.',
  },
  confirm: {
    heading: 'Bestätigen Sie, dass Sie es sind',
    what: (email) =>
      html`Sie sind angemeldet als ${email}. Zeigen Sie noch einmal, dass Sie es sind, bevor Sie ändern, wie Sie sich anmelden.`,
    button: 'Bestätigen',
    passkey: 'Mit einem Passkey bestätigen',
    noScript: 'Ihr Konto hat einen Passkey und kein Passwort. Dafür ist JavaScript nötig.',
    without: 'Ohne Bestätigung zurück',
    missing: 'Geben Sie Ihr Passwort ein.',
    refused: 'Das ist nicht Ihr Passwort.',
  },
  signUp: {
    heading: (app) => `Konto bei ${app} anlegen`,
    haveAccount: 'Sie haben schon ein Konto?',
    finish: (app) => `Konto bei ${app} fertigstellen`,
    as: (email) => html`Sie legen ein Konto für ${email} an.`,
    button: 'Konto anlegen',
    passkeyWhat:
      'Mit einem Passkey melden Sie sich mit Fingerabdruck, Gesicht oder Gerätesperre an. Sie müssen sich kein Passwort merken.',
    passkey: 'Konto mit einem Passkey anlegen',
    closed: 'Hier werden keine Konten angelegt',
    closedWhat: 'Bitten Sie die Menschen, die diese Anwendung betreiben, um einen Zugang.',
  },
  reset: {
    heading: 'Neues Passwort wählen',
    what: 'Geben Sie Ihre E-Mail-Adresse ein. Wir schicken Ihnen einen Link, mit dem Sie ein neues Passwort wählen.',
    send: 'Link schicken',
    forAccount: (email) =>
      html`Für ${email}. Alle Sitzungen des Kontos werden damit beendet, und hier sind Sie dann angemeldet.`,
    passkeys: 'Auch diese Passkeys können sich bei dem Konto anmelden:',
    addedOn: (name, day) => html`${name}, hinzugefügt am ${day}`,
    removePasskeys: 'Alle Passkeys entfernen. Tun Sie das, wenn Sie nicht jeden kennen.',
    save: 'Passwort speichern',
  },
  mailSent: {
    heading: 'Sehen Sie in Ihre Mail',
    what: (email) =>
      html`Wenn ${email} dafür verwendet werden kann, haben wir einen Link dorthin geschickt. Es kann ein paar Minuten dauern; sehen Sie auch im Spam-Ordner nach.`,
    another: 'Andere Adresse verwenden',
  },
  emailFinish: {
    heading: 'Diese Adresse verwenden?',
    what: (former, email) =>
      html`Ihr Konto ${former} bekommt die Adresse ${email}. Von jetzt an melden Sie sich damit an, und Mail zu Ihrem Konto geht dorthin.`,
    button: 'Diese Adresse verwenden',
  },
  emailRevert: {
    heading: 'Ihr Konto zurückholen?',
    what: (email) =>
      html`Das Konto bekommt seine Adresse ${email} zurück, und alle seine Sitzungen werden beendet. Wählen Sie danach ein neues Passwort.`,
    button: 'Zurückholen',
    done: 'Ihr Konto hat wieder seine frühere Adresse',
    doneWhat:
      'Alle seine Sitzungen wurden beendet. Wählen Sie jetzt ein neues Passwort, und entfernen Sie Passkeys, die Sie nicht kennen.',
    next: 'Neues Passwort wählen',
  },
  deadLink: {
    heading: 'Dieser Link funktioniert nicht mehr',
    what: 'Ein Link funktioniert einmal, eine Zeit lang, und nur der neueste.',
    again: 'Neuen Link anfordern',
  },
  signOut: {
    refused: 'Nicht abgemeldet',
    refusedWhat: 'Diese Adresse ist nur für Personen, die dem Link folgen.',
    incomplete: 'Abmeldung unvollständig',
    incompleteWhat:
      'In diesem Browser sind Sie abgemeldet, aber die Sitzung konnte nicht überall beendet werden. Melden Sie sich erneut an und beenden Sie sie unter „Anmeldung und Sicherheit“.',
  },
  security: {
    heading: 'Anmeldung und Sicherheit',
    confirmFirst: (confirmUrl) =>
      html`Um zu ändern, wie Sie sich anmelden, <a href="${confirmUrl}">bestätigen Sie zuerst, dass Sie es sind</a>.`,
    signOut: 'Abmelden',
    name: 'Name',
    saveName: 'Namen speichern',
    isConfirmed: '(bestätigt)',
    isNotConfirmed: '(nicht bestätigt)',
    newAddress: 'Neue Adresse',
    newAddressHint: 'Wir schicken einen Link dorthin. Bis Sie ihm folgen, ändert sich nichts.',
    changeAddress: 'Adresse ändern',
    noPassword: 'Ihr Konto hat kein Passwort.',
    setOn: (day) => html`Gesetzt am ${day}.`,
    setPassword: 'Passwort setzen',
    changePassword: 'Passwort ändern',
    endsSessions:
      'Alle anderen Sitzungen Ihres Kontos werden damit beendet. Passkeys bleiben: entfernen Sie unten die, die Sie nicht kennen.',
    passkeys: 'Passkeys',
    noPasskeys:
      'Sie haben keine. Mit einem Passkey melden Sie sich mit Fingerabdruck, Gesicht oder Gerätesperre an.',
    newPasskey: 'Name des neuen Passkeys (freiwillig)',
    addPasskey: 'Passkey hinzufügen',
    addNeedsScript: 'Um einen Passkey hinzuzufügen, ist JavaScript nötig.',
    addedOn: (day) => html`hinzugefügt am ${day}`,
    lastUsedOn: (day) => html`, zuletzt verwendet am ${day}`,
    backedUp: ', auf mehr als einem Gerät',
    newName: 'Neuer Name',
    rename: 'Umbenennen',
    remove: 'Entfernen',
    twoStep: 'Bestätigung in zwei Schritten',
    twoStepOn: (codes) =>
      `Ein: zum Anmelden mit dem Passwort gehört auch ein Code. Sie haben noch ${codes} Wiederherstellungscodes.`,
    twoStepOff: 'Aus. Damit gehört zum Anmelden mit dem Passwort auch ein Code aus einer App.',
    newCodes: 'Neue Wiederherstellungscodes',
    turnOn: 'Einschalten',
    turnOff: 'Ausschalten',
    sessions: 'Wo Sie angemeldet sind',
    unknownBrowser: 'Unbekannter Browser',
    thisOne: '(dieser)',
    since: (day) => html`seit ${day}`,
    signOutEverywhere: 'Überall abmelden',
    delete: 'Konto löschen',
    deleteWhat:
      'Danach können Sie sich damit nicht mehr anmelden, und es lässt sich nicht wiederherstellen. Was Sie hier gearbeitet haben, bleibt verzeichnet.',
    typeToConfirm: (email) => `Geben Sie zur Bestätigung ${email} ein`,
    deleteButton: 'Mein Konto löschen',
    notYours: 'Das ist nicht die Adresse Ihres Kontos.',
    deleted: 'Ihr Konto wurde gelöscht',
    deletedWhat: 'Man kann sich damit nicht mehr anmelden, und seine Sitzungen sind beendet.',
  },
  totp: {
    heading: 'Bestätigung in zwei Schritten einrichten',
    scan: 'Scannen Sie das mit Ihrer Authentifizierungs-App.',
    qrLabel: 'QR-Code des Schlüssels, der darunter steht',
    orType: 'Oder geben Sie den Schlüssel ein:',
    typeCode: 'Geben Sie den Code ein, den die App zeigt.',
    cancel: 'Abbrechen',
    tooLong: 'Das hat zu lange gedauert. Beginnen Sie von vorn.',
    inUse: 'Es gibt schon einen zweiten Faktor. Schalten Sie ihn zuerst aus.',
    codes: 'Ihre Wiederherstellungscodes',
    codesWhat: html`Mit jedem davon melden Sie sich einmal an, wenn Sie Ihre Authentifizierungs-App nicht haben. Bewahren Sie sie sicher auf: <strong>sie werden nicht noch einmal gezeigt</strong>.`,
    saved: 'Ich habe sie gespeichert',
  },
  mails: {
    copyAddress: 'Wenn der Link nicht funktioniert, kopieren Sie diese Adresse:',
    signUp: {
      subject: (app) => `Stellen Sie Ihr Konto bei ${app} fertig`,
      asked: (app) => `Mit dieser Adresse soll ein Konto bei ${app} angelegt werden.`,
      action: 'Konto fertigstellen',
      last: (span) =>
        `Der Link funktioniert einmal und ${spanText(span)} lang. Wenn Sie das nicht waren, geschieht nichts, solange Sie ihm nicht folgen.`,
    },
    accountExists: {
      subject: (app) => `Sie haben schon ein Konto bei ${app}`,
      asked: (app) => `Diese Adresse soll bei ${app} verwendet werden. Sie haben damit schon ein Konto.`,
      forgot: (url) => `Wenn Sie Ihr Passwort vergessen haben, wählen Sie hier ein neues: ${url}`,
      action: 'Anmelden',
      last: 'Wenn Sie das nicht waren, müssen Sie nichts tun: Ihr Konto wurde nicht geöffnet.',
    },
    reset: {
      subject: (app) => `Wählen Sie ein neues Passwort für ${app}`,
      asked: (app) => `Für Ihr Konto bei ${app} wurde ein neues Passwort verlangt.`,
      action: 'Neues Passwort wählen',
      last: (span) =>
        `Der Link funktioniert einmal und ${spanText(span)} lang. Wenn Sie das nicht waren, bleibt Ihr Passwort, wie es ist.`,
    },
    emailChange: {
      subject: (app) => `Bestätigen Sie Ihre Adresse für ${app}`,
      asked: (app) => `Diese Adresse soll für ein Konto bei ${app} verwendet werden.`,
      action: 'Diese Adresse verwenden',
      last: (span) =>
        `Der Link funktioniert einmal und ${spanText(span)} lang. Wenn Sie das nicht waren, geschieht nichts, solange Sie ihm nicht folgen.`,
    },
    emailChanged: {
      subject: (app) => `Ihre Adresse wurde geändert bei ${app}`,
      changed: (app) => `Ihr Konto bei ${app} hat jetzt eine andere E-Mail-Adresse.`,
      action: 'Das war ich nicht: mein Konto zurückholen',
      last: (span) =>
        `Der Link funktioniert einmal und ${spanText(span)} lang. Wenn Sie das waren, müssen Sie nichts tun.`,
      tellOperator: (app) => `Wenn Sie das nicht waren, sagen Sie es denen, die ${app} betreiben.`,
    },
    noticeSubject: (subject, app) => `${subject} bei ${app}`,
    seeAccount: 'Ansehen, wie Sie sich anmelden',
    seePasskeys: 'Ihre Passkeys ansehen',
    ifNotYou:
      'Wenn Sie das nicht waren, wählen Sie jetzt ein neues Passwort, und entfernen Sie Passkeys, die Sie nicht kennen: {reset}',
    notices: {
      password_changed: {
        subject: 'Ihr Passwort wurde geändert',
        sentence: 'Das Passwort Ihres Kontos wurde geändert, und alle anderen Sitzungen wurden beendet.',
      },
      password_reset: {
        subject: 'Ihr Passwort wurde geändert',
        sentence:
          'Über einen Link in einer Mail wurde ein neues Passwort für Ihr Konto gewählt, und alle Sitzungen wurden beendet.',
      },
      passkey_added: {
        subject: 'Ein Passkey wurde hinzugefügt',
        sentence:
          'Mit einem weiteren Passkey kann man sich jetzt bei Ihrem Konto anmelden. Ein neues Passwort ändert daran nichts.',
        last: 'Wenn Sie das nicht waren, entfernen Sie ihn dort. Wenn Sie sich nicht anmelden können, wählen Sie ein neues Passwort und entfernen Sie dabei alle Passkeys: {reset}',
      },
      passkey_removed: {
        subject: 'Ein Passkey wurde entfernt',
        sentence: 'Ein Passkey Ihres Kontos wurde entfernt.',
      },
      totp_enabled: {
        subject: 'Die Bestätigung in zwei Schritten wurde eingeschaltet',
        sentence: 'Zum Anmelden mit Ihrem Passwort gehört jetzt auch ein Code.',
      },
      totp_disabled: {
        subject: 'Die Bestätigung in zwei Schritten wurde ausgeschaltet',
        sentence: 'Zum Anmelden mit Ihrem Passwort gehört kein Code mehr.',
      },
      recovery_codes_made: {
        subject: 'Es gibt neue Wiederherstellungscodes',
        sentence: 'Ihr Konto hat neue Wiederherstellungscodes. Die früheren funktionieren nicht mehr.',
      },
      recovery_code_used: {
        subject: 'Ein Wiederherstellungscode wurde verwendet',
        sentence: 'Mit einem der Wiederherstellungscodes Ihres Kontos hat sich jemand angemeldet.',
      },
      email_change_asked: {
        subject: 'Ihre Adresse soll geändert werden',
        sentence:
          'Eine Person, die bei Ihrem Konto angemeldet ist, will seine E-Mail-Adresse ändern. Noch ist nichts geändert.',
        last: 'Wenn Sie das nicht waren, melden Sie sich auf jener Seite überall ab, was die Änderung aufhält, und wählen Sie ein neues Passwort: {reset}',
      },
      account_locked: {
        subject: 'Ihr Passwort wird vielleicht angegriffen',
        sentence:
          'Es gab zu viele falsche Versuche, sich bei Ihrem Konto anzumelden. Von dort werden eine Zeit lang keine mehr angenommen. Browser, in denen Sie sich schon angemeldet haben, sind nicht betroffen.',
        last: 'Wenn Sie das waren und Ihr Passwort vergessen haben, wählen Sie ein neues: {reset}',
      },
      account_deleted: {
        subject: 'Ihr Konto wurde gelöscht',
        sentence: 'Ihr Konto wurde auf Ihren Wunsch gelöscht. Man kann sich damit nicht mehr anmelden.',
        last: 'Das ist die letzte Mail dazu.',
      },
    },
  },
};
