/* Values of variables, for clang's plugin: assignments of the source are marked as debug information of variables of our own, which
 * compilers keep right and by which they decide nothing. */
#include "runs/inside/features/counting/plugin_clang.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Operator.h>

using namespace llvm;
using namespace counted;

#define VALUE_MARK "assay value " /* before the names of variables that mark values */

/* ---- what the source calls them ---- */

namespace
{

struct described {
	std::string name;
	const DIType *type; /* NULL: not known */
};

const DIType *resolved(const DIType *type)
{
	const DIDerivedType *d;

	while ((d = dyn_cast_or_null<DIDerivedType>(type)) &&
	       (d->getTag() == dwarf::DW_TAG_typedef || d->getTag() == dwarf::DW_TAG_const_type ||
		d->getTag() == dwarf::DW_TAG_volatile_type || d->getTag() == dwarf::DW_TAG_restrict_type ||
		d->getTag() == dwarf::DW_TAG_atomic_type || d->getTag() == dwarf::DW_TAG_member))
		type = d->getBaseType();
	return type;
}

const DIType *pointed_to(const DIType *type)
{
	const DIDerivedType *d = dyn_cast_or_null<DIDerivedType>(resolved(type));

	return d ? d->getBaseType() : NULL;
}

described field(const described &of, uint64_t bits)
{
	const DICompositeType *all = dyn_cast_or_null<DICompositeType>(resolved(of.type));

	if (all && all->getTag() != dwarf::DW_TAG_array_type)
		for (const DINode *node : all->getElements()) {
			const DIDerivedType *member = dyn_cast<DIDerivedType>(node);

			if (member && member->getTag() == dwarf::DW_TAG_member && !member->isStaticMember() &&
			    member->getOffsetInBits() == bits) {
				std::string name = printable(member->getName().str().c_str());

				return { of.name.empty() || name.empty() ? of.name + name : of.name + '.' + name, member };
			}
		}
	return { of.name, NULL };
}

described object(Value *address, const DataLayout &layout);

described element(GEPOperator *way, const DataLayout &layout)
{
	described at = object(way->getPointerOperand(), layout);
	Type *type = way->getSourceElementType();

	for (unsigned i = 2; i < way->getNumOperands(); i++)
		if (StructType *all = dyn_cast<StructType>(type)) {
			unsigned which = cast<ConstantInt>(way->getOperand(i))->getZExtValue();

			at = field(at, layout.getStructLayout(all)->getElementOffsetInBits(which));
			type = all->getElementType(which);
		} else {
			const DICompositeType *array = dyn_cast_or_null<DICompositeType>(resolved(at.type));

			at.type = array ? array->getBaseType() : NULL;
			type = GetElementPtrInst::getTypeAtIndex(type, uint64_t(0));
		}
	return at;
}

/* What the source calls what is there; its name is "" where it has none. */
described object(Value *address, const DataLayout &layout)
{
	if (AllocaInst *local = dyn_cast<AllocaInst>(address)) {
		for (DbgVariableIntrinsic *d : FindDbgAddrUses(local))
			return { d->getVariable()->isArtificial() ? "" : printable(d->getVariable()->getName().str().c_str()),
				 d->getVariable()->getType() };
	} else if (GlobalVariable *global = dyn_cast<GlobalVariable>(address)) {
		SmallVector<DIGlobalVariableExpression *, 1> all;

		global->getDebugInfo(all);
		if (!all.empty())
			return { printable(all[0]->getVariable()->getName().str().c_str()), all[0]->getVariable()->getType() };
	} else if (GEPOperator *way = dyn_cast<GEPOperator>(address)) {
		return element(way, layout);
	} else if (LoadInst *load = dyn_cast<LoadInst>(address)) {
		described pointer = object(load->getPointerOperand(), layout);

		return { pointer.name, pointed_to(pointer.type) };
	} else if (BitCastOperator *cast = dyn_cast<BitCastOperator>(address)) {
		return { object(cast->getOperand(0), layout).name, NULL };
	}
	return { "", NULL };
}

bool is_scalar(Type *type)
{
	return (type->isIntegerTy() && type->getIntegerBitWidth() <= 64) || type->isFloatTy() || type->isDoubleTy();
}

bool is_unsigned(const DIType *type)
{
	const DIBasicType *basic;

	type = resolved(type);
	if (const DICompositeType *all = dyn_cast_or_null<DICompositeType>(type)) /* an enumeration */
		type = resolved(all->getBaseType());
	basic = dyn_cast_or_null<DIBasicType>(type);
	return basic && basic->getSignedness() == DIBasicType::Signedness::Unsigned;
}

/* ---- marks ---- */

/* A variable of our own behind an assignment: VALUE_MARK, s or u for signed or not, its name. */
void mark_value(const compilation &c, DIBuilder *builder, StoreInst *store)
{
	const DataLayout &layout = store->getModule()->getDataLayout();
	DISubprogram *function = store->getFunction()->getSubprogram();
	described to = object(store->getPointerOperand(), layout);
	DebugLoc where = store->getDebugLoc();
	std::string at;

	if (!where && isa<Argument>(store->getValueOperand())) /* where a parameter is kept: of no use if nothing reads it */
		where =
		    store->getPointerOperand()->hasNUses(1) ? NULL : DILocation::get(store->getContext(), function->getLine(), 0, function);
	if (to.name.empty() || !is_known(c, where.get()))
		return;
	at = value_name(place(where.get()), c.functions.at(function), to.name);
	if (!wishes_value(c.wished, at))
		return;
	builder->insertDbgValueIntrinsic(store->getValueOperand(),
					 builder->createAutoVariable(where->getScope(),
								     VALUE_MARK + std::string(is_unsigned(to.type) ? "u " : "s ") + at,
								     where->getFile(), where->getLine(), NULL),
					 builder->createExpression(), where.get(), store->getNextNode());
}

} // namespace

void counted::mark_values(const compilation &c, Function *f)
{
	DIBuilder builder(*f->getParent(), false, f->getSubprogram()->getUnit());

	for (BasicBlock &block : *f)
		for (Instruction &i : make_early_inc_range(block))
			if (StoreInst *store = dyn_cast<StoreInst>(&i))
				if (is_scalar(store->getValueOperand()->getType()))
					mark_value(c, &builder, store);
}

bool counted::is_mark(const Instruction &i)
{
	const DbgValueInst *mark = dyn_cast<DbgValueInst>(&i);

	return mark && mark->getVariable()->getName().startswith(VALUE_MARK);
}

marked_value counted::value_of(DbgValueInst *mark, const DominatorTree &dominators)
{
	StringRef name = mark->getVariable()->getName().drop_front(strlen(VALUE_MARK));
	Value *what = mark->hasArgList() || mark->getNumVariableLocationOps() != 1 ? NULL : mark->getVariableLocationOp(0);
	Instruction *made = dyn_cast_or_null<Instruction>(what);

	if (what && (isa<UndefValue>(what) || mark->getExpression()->getNumElements() || !is_scalar(what->getType()) ||
		     (made && !dominators.dominates(made, mark))))
		what = NULL;
	return { what, name.drop_front(2).str(), name[0] == 'u' };
}
