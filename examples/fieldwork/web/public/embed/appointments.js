/**
 * A form for appointments on the trader's own web site. Put it where the form shall be:
 *   <script src="https://acme.example/embed/appointments.js" async></script>
 * `data-heading` and `data-button` say other words. The site's origin has to be on the list under "Requests".
 */
(() => {
  const script = document.currentScript;
  if (!(script instanceof HTMLScriptElement)) return;
  const address = new URL('/public/appointments', script.src).href;

  const STYLE = `
    :host { all: initial; display: block; }
    form, p, h2 { font: 16px/1.5 system-ui, sans-serif; color: #1d2129; margin: 0; }
    form { display: grid; gap: .75rem; max-width: 28rem; padding: 1.25rem; border: 1px solid #c9ced6; border-radius: .75rem; background: #fff; }
    h2 { font-size: 1.2rem; font-weight: 650; }
    label { display: grid; gap: .25rem; font-weight: 550; }
    small { font-weight: 400; color: #565d69; }
    input, textarea { font: inherit; color: inherit; padding: .5rem .6rem; border: 1px solid #7d8694; border-radius: .4rem; background: #fff; width: 100%; box-sizing: border-box; }
    textarea { min-height: 5.5rem; resize: vertical; }
    :is(input, textarea)[aria-invalid=true] { border-color: #b3261e; border-width: 2px; }
    button { font: inherit; font-weight: 600; padding: .6rem 1rem; border: 0; border-radius: .4rem; background: #1d4f91; color: #fff; cursor: pointer; justify-self: start; }
    button[disabled] { opacity: .6; cursor: default; }
    :is(input, textarea, button, p):focus-visible { outline: 3px solid #6ea3e8; outline-offset: 1px; }
    .error { color: #b3261e; font-weight: 500; }
    [hidden] { display: none; }`;

  const FIELDS = [
    { name: 'name', label: 'Your name', autocomplete: 'name', max: 100, required: true },
    { name: 'phone', label: 'Phone', type: 'tel', autocomplete: 'tel', max: 50 },
    { name: 'email', label: 'E-mail', type: 'email', autocomplete: 'email', max: 200 },
    { name: 'what', label: 'What is to be done?', long: true, max: 1000, required: true },
    { name: 'when', label: 'When would it suit you?', hint: 'In your words, if you like', max: 200 },
  ];

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  const host = make('div');
  const root = host.attachShadow({ mode: 'open' });
  const heading = make('h2', {
    textContent: script.dataset.heading || 'Ask for an appointment',
    id: 'heading',
  });
  const button = make('button', { type: 'submit', textContent: script.dataset.button || 'Send' });
  const failure = make('p', { className: 'error', hidden: true, tabIndex: -1 });
  failure.setAttribute('role', 'alert');
  const inputs = new Map();

  const fields = FIELDS.map(({ name, label, hint, long, max, required, ...rest }) => {
    const input = make(long ? 'textarea' : 'input', {
      name,
      maxLength: max,
      required: required === true,
      ...rest,
    });
    const problem = make('small', { className: 'error', id: `${name}-error`, hidden: true });
    input.setAttribute('aria-describedby', problem.id);
    inputs.set(name, { input, problem });
    return make('label', {}, label, ...(hint ? [make('small', { textContent: hint })] : []), input, problem);
  });
  const form = make('form', { noValidate: true }, heading, ...fields, failure, button);
  form.setAttribute('aria-labelledby', heading.id);
  root.append(make('style', { textContent: STYLE }), form);
  script.after(host);

  /** One key for one filled form: sending it twice asks once. `randomUUID` is missing on pages without TLS. */
  const newKey = () =>
    Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
      '',
    );
  let key = newKey();
  form.addEventListener('input', () => {
    key = newKey();
  });

  const say = (name, message) => {
    const { input, problem } = inputs.get(name);
    problem.textContent = message;
    problem.hidden = message === '';
    input.setAttribute('aria-invalid', String(message !== ''));
  };

  /** What is wrong with what was typed, by field. */
  const faultsOf = (values) => {
    const faults = {};
    for (const { name, required } of FIELDS)
      if (required && values[name] === '') faults[name] = 'Please fill this in.';
    if (values.phone === '' && values.email === '')
      faults.phone = 'A phone number or an e-mail address is needed.';
    if (values.email !== '' && !inputs.get('email').input.validity.valid)
      faults.email = 'This is no e-mail address.';
    return faults;
  };

  const show = (faults, sentence) => {
    for (const { name } of FIELDS) say(name, faults[name] ?? '');
    failure.textContent = sentence;
    failure.hidden = sentence === '';
    const first = FIELDS.find(({ name }) => faults[name]);
    if (first) inputs.get(first.name).input.focus();
    else if (sentence !== '') failure.focus();
  };

  const refusalOf = async (response) => {
    const problem = await response.json().catch(() => ({}));
    const faults = {};
    for (const { path, message } of problem.errors ?? [])
      if (inputs.has(path)) faults[path] = `This ${message}.`;
    return { faults, sentence: problem.detail || 'This did not work. Please try again, or call.' };
  };

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const values = Object.fromEntries([...inputs].map(([name, { input }]) => [name, input.value.trim()]));
    const faults = faultsOf(values);
    if (Object.keys(faults).length > 0) return show(faults, '');
    show({}, '');
    button.disabled = true;
    try {
      const response = await fetch(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(values),
        credentials: 'omit',
      });
      if (!response.ok) {
        const refusal = await refusalOf(response);
        return show(refusal.faults, refusal.sentence);
      }
      const thanks = make('p', {
        tabIndex: -1,
        textContent: 'Thank you. Your request has arrived, and you will be answered.',
      });
      thanks.setAttribute('role', 'status');
      form.replaceChildren(heading, thanks);
      thanks.focus();
    } catch {
      // The browser tells a page nothing more: nobody answered, or this site is not on the list.
      show({}, 'This could not be sent. Please try again, or call.');
    } finally {
      button.disabled = false;
    }
  });
})();
