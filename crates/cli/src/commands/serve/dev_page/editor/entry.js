// The editor of the workbench: CodeMirror 6 with YAML, and marks for problems. `build.sh` bundles it into editor.js.
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, codeFolding, foldGutter, foldKeymap, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import { Decoration, EditorView, ViewPlugin, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';

// The rest of a wrapped line starts below the text of the line, so that the indentation of YAML stays readable.
const indented = view => Decoration.set(view.visibleRanges.flatMap(({ from, to }) => {
  const marks = [];
  for (let at = from; at <= to;) {
    const line = view.state.doc.lineAt(at);
    const width = Math.min(line.text.match(/^[ -]*/)[0].length, 40) + 2;
    marks.push(Decoration.line({ attributes: { style: `text-indent: -${width}ch; padding-left: calc(6px + ${width}ch)` } }).range(line.from));
    at = line.to + 1;
  }
  return marks;
}));
const hangingIndent = ViewPlugin.define(
  view => ({
    marks: indented(view),
    update(update) { if (update.docChanged || update.viewportChanged) this.marks = indented(update.view); },
  }),
  { decorations: plugin => plugin.marks },
);

/// Creates an editor in an element. `label` names it for screen readers. Tab leaves the editor.
export const create = (parent, { label, readOnly = false, changed = () => {} }) => {
  let isQuiet = false;
  const view = new EditorView({
    parent,
    extensions: [
      lineNumbers(), history(), indentOnInput(), bracketMatching(), highlightActiveLine(),
      EditorView.lineWrapping, hangingIndent, codeFolding(), foldGutter(), highlightSelectionMatches(),
      yaml(), syntaxHighlighting(classHighlighter), lintGutter(),
      keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap, ...foldKeymap, ...searchKeymap]),
      EditorState.readOnly.of(readOnly),
      EditorView.contentAttributes.of({ 'aria-label': label, 'aria-readonly': String(readOnly), tabindex: '0' }),
      EditorView.updateListener.of(update => { if (update.docChanged && !isQuiet) changed(); }),
    ],
  });
  return {
    text: () => view.state.doc.toString(),
    show: text => {
      if (text === view.state.doc.toString()) return;
      isQuiet = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      isQuiet = false;
    },
    // Marks lines: `[{ line, severity, message }]`. A line of 0 is the first line.
    mark: problems => {
      const { doc } = view.state;
      const marks = problems.map(({ line, severity, message }) => {
        const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines));
        return { from, to, severity, message };
      });
      view.dispatch(setDiagnostics(view.state, marks));
    },
    reveal: line => {
      const { from } = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
      view.focus();
    },
  };
};
