package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// sources is what was found in Go files: facts that no compiled program tells.
type sources struct {
	// Metrics by full name.
	Metrics map[string]obj `json:"metrics"`
	// Texts by folder: what statuses, errors and named reasons say.
	Texts map[string][]string `json:"texts"`
	// Selectors are the names that follow a dot.
	Selectors []string `json:"selectors"`

	texts     map[string]map[string]bool
	selectors map[string]bool
}

// printSources writes what the Go files below some folders say. A folder is given as NAME=PATH, and
// the names of folders below it start with NAME.
func printSources(folders []string, to io.Writer) error {
	found := &sources{Metrics: map[string]obj{}, Texts: map[string][]string{},
		texts: map[string]map[string]bool{}, selectors: map[string]bool{}}
	for _, folder := range folders {
		name, path, _ := strings.Cut(folder, "=")
		if err := found.read(name, path); err != nil {
			return err
		}
	}
	for folder, texts := range found.texts {
		found.Texts[folder] = keys(texts)
	}
	found.Selectors = keys(found.selectors)
	return json.NewEncoder(to).Encode(found)
}

func keys(set map[string]bool) []string {
	list := []string{}
	for one := range set {
		list = append(list, one)
	}
	sort.Strings(list)
	return list
}

func (s *sources) read(name, root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if entry.Name() == "testing" || entry.Name() == "testdata" {
			return filepath.SkipDir
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return s.readPackage(filepath.Join(name, below), path)
	})
}

func (s *sources) readPackage(name, path string) error {
	files, err := filepath.Glob(filepath.Join(path, "*.go"))
	if err != nil {
		return err
	}
	var parsed []*ast.File
	constants := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(filepath.Base(file), "zz_") {
			continue
		}
		one, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, one)
		for text, value := range namedTexts(one) {
			constants[text] = value
		}
	}
	for _, file := range parsed {
		ast.Inspect(file, func(node ast.Node) bool {
			switch found := node.(type) {
			case *ast.SelectorExpr:
				s.selectors[found.Sel.Name] = true
			case *ast.CallExpr:
				s.readCall(name, found, constants)
			}
			return true
		})
	}
	for constant, text := range constants {
		if isReason(constant) {
			s.add(name, text)
		}
	}
	return nil
}

// namedTexts returns the string constants and variables of a file.
func namedTexts(file *ast.File) map[string]string {
	found := map[string]string{}
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for number, name := range value.Names {
				if number < len(value.Values) {
					if text, ok := literal(value.Values[number], nil); ok {
						found[name.Name] = text
					}
				}
			}
		}
	}
	return found
}

func isReason(name string) bool {
	lower := strings.ToLower(name)
	return strings.Contains(lower, "reason") || strings.HasPrefix(lower, "err")
}

func (s *sources) add(folder, text string) {
	if s.texts[folder] == nil {
		s.texts[folder] = map[string]bool{}
	}
	s.texts[folder][text] = true
}

// literal returns the text of an expression: a literal, a constant, or a sum of them.
func literal(expression ast.Expr, constants map[string]string) (string, bool) {
	switch found := expression.(type) {
	case *ast.BasicLit:
		if found.Kind == token.STRING {
			text, err := strconv.Unquote(found.Value)
			return text, err == nil
		}
	case *ast.Ident:
		text, ok := constants[found.Name]
		return text, ok
	case *ast.BinaryExpr:
		left, ok := literal(found.X, constants)
		right, also := literal(found.Y, constants)
		return left + right, ok || also
	}
	return "", false
}

// speaks are the functions whose texts users see.
var speaks = map[string]bool{"NewStatus": true, "Errorf": true, "New": true, "WithReasons": true, "AppendReason": true}

func (s *sources) readCall(folder string, call *ast.CallExpr, constants map[string]string) {
	function := ""
	switch found := call.Fun.(type) {
	case *ast.SelectorExpr:
		function = found.Sel.Name
	case *ast.Ident:
		function = found.Name
	}
	if speaks[function] {
		for _, argument := range call.Args {
			s.readText(folder, argument)
		}
	}
	if strings.HasPrefix(function, "New") && len(call.Args) > 0 {
		s.readMetric(strings.TrimPrefix(function, "New"), call, constants)
	}
}

// readText adds a text that is spoken: a literal, or the format of a Sprintf.
func (s *sources) readText(folder string, argument ast.Expr) {
	if inner, ok := argument.(*ast.CallExpr); ok {
		if named, ok := inner.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(named.Sel.Name, "Sprint") {
			for _, one := range inner.Args {
				s.readText(folder, one)
			}
		}
		return
	}
	if text, ok := literal(argument, nil); ok && text != "" {
		s.add(folder, text)
	}
}

// readMetric adds a metric, if a call makes one: its options are the first argument, its labels the
// second, if it has any.
func (s *sources) readMetric(kind string, call *ast.CallExpr, constants map[string]string) {
	first := call.Args[0]
	if pointer, ok := first.(*ast.UnaryExpr); ok {
		first = pointer.X
	}
	options, ok := first.(*ast.CompositeLit)
	if !ok {
		return
	}
	fields := map[string]string{}
	for _, element := range options.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		name, _ := pair.Key.(*ast.Ident)
		if name == nil {
			continue
		}
		if text, ok := literal(pair.Value, constants); ok {
			fields[name.Name] = text
		} else if level, ok := pair.Value.(*ast.SelectorExpr); ok {
			fields[name.Name] = level.Sel.Name
		}
	}
	if fields["Name"] == "" || fields["StabilityLevel"] == "" {
		return
	}
	labels := []string{}
	if len(call.Args) > 1 {
		if list, ok := call.Args[1].(*ast.CompositeLit); ok {
			for _, element := range list.Elts {
				if text, ok := literal(element, constants); ok {
					labels = append(labels, text)
				}
			}
		}
	}
	parts := []string{}
	for _, part := range []string{fields["Namespace"], fields["Subsystem"], fields["Name"]} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	s.Metrics[strings.Join(parts, "_")] = obj{"kind": strings.TrimSuffix(kind, "Vec"), "labels": labels,
		"stability": fields["StabilityLevel"], "deprecated": fields["DeprecatedVersion"], "help": fields["Help"]}
}
